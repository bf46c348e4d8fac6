package admission

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

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// A value above one of these limits probably has a wrong unit. It causes a warning and not an
// error, because future hardware may exceed the limit.
const (
	manyCPUs     = 4096
	fastClockMHz = 10000
	fastGbps     = 1600
)

// A clock rate below leastClockMHz, or a pattern longer than mostPattern, is an error.
const (
	leastClockMHz = 100
	mostPattern   = 256 // bytes
)

var (
	// minSize is the smallest accepted size of memory or of a disk. A smaller number probably lacks
	// its unit.
	minSize = resource.MustParse("1Mi")

	flagPattern = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
)

// validateRequirements checks the value of each requirement. The paths in its errors are relative to the node.
func validateRequirements(h *v1alpha1.HostRequirements) *apis.FieldError {
	return validateCPU(h).Also(
		validateSize("memory", "16Gi", h.Memory),
		validateSelector(h.Selector),
		validateDisks(h),
		validateNICs(h),
		validatePatterns(h),
	)
}

func validateCPU(h *v1alpha1.HostRequirements) (errs *apis.FieldError) {
	if h.CPU < 0 {
		errs = errs.Also(problem("cpu", "write the minimum number of CPU threads, such as 4, or leave it out", "%d is negative", h.CPU))
	} else if h.CPU > manyCPUs {
		errs = errs.Also(warning("cpu", "%d CPU threads is unusually high: cpu counts whole threads", h.CPU))
	}
	if _, known := v1alpha1.Architectures[h.Architecture]; !known && h.Architecture != "" {
		errs = errs.Also(problem("architecture", "write x86_64 or aarch64 (or amd64, arm64)", "%q is not a supported architecture", h.Architecture))
	}
	for i, flag := range h.CPUFlags {
		if !flagPattern.MatchString(flag) {
			errs = errs.Also(problem(fmt.Sprintf("cpuFlags[%d]", i), "write one flag per item, as in /proc/cpuinfo, such as avx512f", "%q is not a CPU flag", flag))
		}
	}
	const clockAdvice = "write the minimum clock rate in MHz, such as 2400, or leave it out"
	switch {
	case h.CPUClockMHz < 0:
		errs = errs.Also(problem("cpuClockMHz", clockAdvice, "%d is negative", h.CPUClockMHz))
	case h.CPUClockMHz > 0 && h.CPUClockMHz < leastClockMHz:
		errs = errs.Also(problem("cpuClockMHz", clockAdvice, "%d MHz is too low: is the value in GHz?", h.CPUClockMHz))
	case h.CPUClockMHz > fastClockMHz:
		errs = errs.Also(warning("cpuClockMHz", "%d MHz is unusually high: cpuClockMHz is in MHz", h.CPUClockMHz))
	}
	return errs
}

// validateSize checks a quantity of bytes.
func validateSize(field, example, text string) *apis.FieldError {
	if text == "" {
		return nil
	}
	advice := "write a quantity such as " + example + ", or leave it out"
	q, err := resource.ParseQuantity(text)
	switch {
	case err != nil:
		return problem(field, advice, "%q is not a quantity", text)
	case q.Sign() < 0:
		return problem(field, advice, "%q is negative", text)
	case q.Cmp(minSize) < 0:
		return problem(field, advice, "%q is less than 1Mi: is a unit missing?", text)
	}
	return nil
}

func validateSelector(s *metav1.LabelSelector) (errs *apis.FieldError) {
	for _, e := range metav1validation.ValidateLabelSelector(s, metav1validation.LabelSelectorValidationOptions{}, nil) {
		errs = errs.Also(problem("selector."+e.Field, "write matchLabels and matchExpressions as in any Kubernetes label selector", "%s", e.ErrorBody()))
	}
	return errs
}

func validateDisks(h *v1alpha1.HostRequirements) (errs *apis.FieldError) {
	for i, d := range h.Disks {
		err := validateCount(d.Count).Also(validateSize("minSize", "960G", d.MinSize))
		if d.Type != "" && !slices.Contains(v1alpha1.DiskTypes, strings.ToUpper(d.Type)) {
			err = err.Also(problem("type", "use one of "+strings.Join(v1alpha1.DiskTypes, ", "), "%q is not a disk type", d.Type))
		}
		errs = errs.Also(err.ViaFieldIndex("disks", i))
	}
	return errs
}

func validateNICs(h *v1alpha1.HostRequirements) (errs *apis.FieldError) {
	for i, n := range h.NICs {
		err := validateCount(n.Count).Also(validatePattern("model", n.Model))
		if n.MinSpeedGbps < 0 {
			err = err.Also(problem("minSpeedGbps", "write the minimum speed in Gbit/s, such as 25, or leave it out", "%d is negative", n.MinSpeedGbps))
		} else if n.MinSpeedGbps > fastGbps {
			err = err.Also(warning("minSpeedGbps", "%d Gbit/s is unusually high: minSpeedGbps is in Gbit/s", n.MinSpeedGbps))
		}
		errs = errs.Also(err.ViaFieldIndex("nics", i))
	}
	return errs
}

// validateCount accepts 0, which stands for the default.
func validateCount(count int32) *apis.FieldError {
	if count < 0 {
		return problem("count", "write the minimum number; the default is 1", "%d is negative", count)
	}
	return nil
}

// validatePatterns checks the requirements that are patterns. It also rejects a field system or
// firmware without any pattern.
func validatePatterns(h *v1alpha1.HostRequirements) (errs *apis.FieldError) {
	for _, t := range h.Texts() {
		if t.Field != "architecture" {
			errs = errs.Also(validatePattern(t.Field, t.Text))
		}
	}
	if h.System != nil && *h.System == (v1alpha1.SystemRequirement{}) {
		errs = errs.Also(problem("system", "write a pattern for vendor or product, or leave it out", "system is empty"))
	}
	if h.Firmware != nil && *h.Firmware == (v1alpha1.FirmwareRequirement{}) {
		errs = errs.Also(problem("firmware", "write a pattern for vendor, version or date, or leave it out", "firmware is empty"))
	}
	return errs
}

func validatePattern(field, text string) *apis.FieldError {
	const advice = "write the text that Metal3 reports, with * for any characters and ? for one character"
	switch {
	case len(text) > mostPattern:
		return problem(field, advice, "the pattern has %d bytes, more than the limit of %d", len(text), mostPattern)
	case strings.ContainsFunc(text, unicode.IsControl):
		return problem(field, advice, "%q contains a control character", text)
	case strings.TrimSpace(text) != text:
		return problem(field, advice, "%q begins or ends with a space, which matches nothing", text)
	}
	return nil
}
