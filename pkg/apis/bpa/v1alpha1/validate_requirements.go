package v1alpha1

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"knative.dev/pkg/apis"
)

// What is beyond these is no error, since hardware grows, but more likely a wrong unit.
const (
	manyCPUs     = 4096
	fastClockMHz = 10000
	fastGbps     = 1600
)

// Less than these is an error: nobody means it.
const (
	leastClockMHz = 100
	mostPattern   = 256 // bytes
)

var (
	// minSize is what nobody means when writing the size of memory or of a disk: a smaller number lacks its unit.
	minSize = resource.MustParse("1Mi")

	flagPattern = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
	diskTypes   = []string{"HDD", "SSD", "NVME"}
)

// validate looks at each requirement by itself. Paths begin at the node.
func (h *HostRequirements) validate() *apis.FieldError {
	return h.validateCPU().Also(
		validateSize("memory", "16Gi", h.Memory),
		validateSelector(h.Selector),
		h.validateDisks(),
		h.validateNICs(),
		h.validatePatterns(),
	)
}

func (h *HostRequirements) validateCPU() (errs *apis.FieldError) {
	if h.CPU < 0 {
		errs = errs.Also(problem("cpu", "write the least number of CPU threads, such as 4, or leave it out", "%d is negative", h.CPU))
	} else if h.CPU > manyCPUs {
		errs = errs.Also(warning("cpu", "hosts with %d CPU threads are not known: cpu is in whole threads", h.CPU))
	}
	if _, known := architectures[h.Architecture]; !known && h.Architecture != "" {
		errs = errs.Also(problem("architecture", "write x86_64 or aarch64 (or amd64, arm64)", "%q is no known architecture", h.Architecture))
	}
	for i, flag := range h.CPUFlags {
		if !flagPattern.MatchString(flag) {
			errs = errs.Also(problem(fmt.Sprintf("cpuFlags[%d]", i), "write one flag in each item, as /proc/cpuinfo has it, such as avx512f", "%q is no CPU flag", flag))
		}
	}
	const clockAdvice = "write the least clock rate in MHz, such as 2400, or leave it out"
	switch {
	case h.CPUClockMHz < 0:
		errs = errs.Also(problem("cpuClockMHz", clockAdvice, "%d is negative", h.CPUClockMHz))
	case h.CPUClockMHz > 0 && h.CPUClockMHz < leastClockMHz:
		errs = errs.Also(problem("cpuClockMHz", clockAdvice, "%d MHz is too slow: is it in GHz?", h.CPUClockMHz))
	case h.CPUClockMHz > fastClockMHz:
		errs = errs.Also(warning("cpuClockMHz", "CPUs with %d MHz are not known: cpuClockMHz is in MHz", h.CPUClockMHz))
	}
	return errs
}

// validateSize looks at a quantity of bytes.
func validateSize(field, example, text string) *apis.FieldError {
	if text == "" {
		return nil
	}
	advice := "write a quantity such as " + example + ", or leave it out"
	q, err := resource.ParseQuantity(text)
	switch {
	case err != nil:
		return problem(field, advice, "%q is no quantity", text)
	case q.Sign() < 0:
		return problem(field, advice, "%q is negative", text)
	case q.Cmp(minSize) < 0:
		return problem(field, advice, "%q is less than 1Mi: is a unit missing?", text)
	}
	return nil
}

func validateSelector(s *metav1.LabelSelector) (errs *apis.FieldError) {
	for _, e := range metav1validation.ValidateLabelSelector(s, metav1validation.LabelSelectorValidationOptions{}, nil) {
		errs = errs.Also(problem("selector."+e.Field, "write matchLabels and matchExpressions as in any label selector of Kubernetes", "%s", e.ErrorBody()))
	}
	return errs
}

func (h *HostRequirements) validateDisks() (errs *apis.FieldError) {
	for i, d := range h.Disks {
		err := validateCount(d.Count).Also(validateSize("minSize", "960G", d.MinSize))
		if d.Type != "" && !slices.Contains(diskTypes, strings.ToUpper(d.Type)) {
			err = err.Also(problem("type", "use one of "+strings.Join(diskTypes, ", "), "%q is no type of disk", d.Type))
		}
		errs = errs.Also(err.ViaFieldIndex("disks", i))
	}
	return errs
}

func (h *HostRequirements) validateNICs() (errs *apis.FieldError) {
	for i, n := range h.NICs {
		err := validateCount(n.Count).Also(validatePattern("model", n.Model))
		if n.MinSpeedGbps < 0 {
			err = err.Also(problem("minSpeedGbps", "write the least speed in Gbit/s, such as 25, or leave it out", "%d is negative", n.MinSpeedGbps))
		} else if n.MinSpeedGbps > fastGbps {
			err = err.Also(warning("minSpeedGbps", "cards with %d Gbit/s are not known: minSpeedGbps is in Gbit/s", n.MinSpeedGbps))
		}
		errs = errs.Also(err.ViaFieldIndex("nics", i))
	}
	return errs
}

// validateCount lets 0 pass: it stands for the default.
func validateCount(count int32) *apis.FieldError {
	if count < 0 {
		return problem("count", "write how many there must be at least, or leave it out for 1", "%d is negative", count)
	}
	return nil
}

// validatePatterns looks at the texts, and at parts that are there and say nothing.
func (h *HostRequirements) validatePatterns() (errs *apis.FieldError) {
	for _, t := range h.texts() {
		if t.field != "architecture" {
			errs = errs.Also(validatePattern(t.field, t.text))
		}
	}
	if h.System != nil && *h.System == (SystemRequirement{}) {
		errs = errs.Also(problem("system", "write a pattern for vendor or product, or leave it out", "system is empty"))
	}
	if h.Firmware != nil && *h.Firmware == (FirmwareRequirement{}) {
		errs = errs.Also(problem("firmware", "write a pattern for vendor, version or date, or leave it out", "firmware is empty"))
	}
	return errs
}

func validatePattern(field, text string) *apis.FieldError {
	const advice = "write the text as Metal3 found it, with * for any characters and ? for one"
	switch {
	case len(text) > mostPattern:
		return problem(field, advice, "a pattern of %d bytes is too long: %d are the most", len(text), mostPattern)
	case strings.ContainsFunc(text, unicode.IsControl):
		return problem(field, advice, "%q holds a character that cannot be seen", text)
	case strings.TrimSpace(text) != text:
		return problem(field, advice, "%q begins or ends with a space, which matches nothing", text)
	}
	return nil
}
