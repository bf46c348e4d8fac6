package admission

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// needs returns a cluster with one master that has the given requirements.
func needs(text string) string { return "masters: [{m: {" + text + "}}]" }

func TestHardwareRules(t *testing.T) {
	const (
		at            = ": spec.masters[0].m."
		adviceClock   = "write the minimum clock rate in MHz, such as 2400, or leave it out"
		adviceSize    = "write a quantity such as 960G, or leave it out"
		advicePattern = "write the text that Metal3 reports, with * for any characters and ? for one character"
		adviceMany    = "write the minimum number; the default is 1"
		adviceFlag    = "write one flag per item, as in /proc/cpuinfo, such as avx512f"
	)
	checkRules(t, []rule{
		{"architecture", needs("architecture: x86"), `"x86" is not a supported architecture` + at + "architecture\nwrite x86_64 or aarch64 (or amd64, arm64)"},
		{"no flag", needs("cpuFlags: [avx, '']"), `"" is not a CPU flag` + at + "cpuFlags[1]\n" + adviceFlag},
		{"two flags in one", needs("cpuFlags: ['avx avx2']"), `"avx avx2" is not a CPU flag` + at + "cpuFlags[0]\n" + adviceFlag},
		{"clock in GHz", needs("cpuClockMHz: 3"), "3 MHz is too low: is the value in GHz?" + at + "cpuClockMHz\n" + adviceClock},
		{"negative clock", needs("cpuClockMHz: -3"), "-3 is negative" + at + "cpuClockMHz\n" + adviceClock},
		{"size is a word", needs("disks: [{minSize: big}]"), `"big" is not a quantity` + at + "disks[0].minSize\n" + adviceSize},
		{"size in TB", needs("disks: [{minSize: 1TB}]"), `"1TB" is not a quantity` + at + "disks[0].minSize\n" + adviceSize},
		{"unit missing", needs("disks: [{}, {minSize: '960'}]"), `"960" is less than 1Mi: is a unit missing?` + at + "disks[1].minSize\n" + adviceSize},
		{"negative disks", needs("disks: [{count: -1}]"), "-1 is negative" + at + "disks[0].count\n" + adviceMany},
		{"type of disk", needs("disks: [{type: floppy}]"), `"floppy" is not a disk type` + at + "disks[0].type\nuse one of HDD, SSD, NVME"},
		{"negative cards", needs("nics: [{count: -2}]"), "-2 is negative" + at + "nics[0].count\n" + adviceMany},
		{"negative speed", needs("nics: [{minSpeedGbps: -1}]"), "-1 is negative" + at + "nics[0].minSpeedGbps\nwrite the minimum speed in Gbit/s, such as 25, or leave it out"},
		{"a space behind", needs("nics: [{model: '0x8086 '}]"), `"0x8086 " begins or ends with a space, which matches nothing` + at + "nics[0].model\n" + advicePattern},
		{"nothing but a space", needs("cpuModel: ' '"), `" " begins or ends with a space, which matches nothing` + at + "cpuModel\n" + advicePattern},
		{"a line break", needs(`cpuModel: "a\nb"`), `"a\nb" contains a control character` + at + "cpuModel\n" + advicePattern},
		{"too long", needs("system: {vendor: " + strings.Repeat("a", 257) + "}"), "the pattern has 257 bytes, more than the limit of 256" + at + "system.vendor\n" + advicePattern},
		{"a pattern deep inside", needs("firmware: {version: ' 2.1'}"), `" 2.1" begins or ends with a space, which matches nothing` + at + "firmware.version\n" + advicePattern},
		{"empty system", needs("cpu: 1, system: {}"), "system is empty" + at + "system\nwrite a pattern for vendor or product, or leave it out"},
		{"empty firmware", needs("cpu: 1, firmware: {}"), "firmware is empty" + at + "firmware\nwrite a pattern for vendor, version or date, or leave it out"},
	})
}

func TestSelectorRules(t *testing.T) {
	const advice = "\nwrite matchLabels and matchExpressions as in any Kubernetes label selector"
	checkRules(t, []rule{
		{"operator", needs("selector: {matchExpressions: [{key: a, operator: Gt, values: ['1']}]}"),
			`Invalid value: "Gt": not a valid selector operator: spec.masters[0].m.selector.matchExpressions[0].operator` + advice},
		{"no values", needs("selector: {matchExpressions: [{key: a, operator: In}]}"),
			"Required value: must be specified when `operator` is 'In' or 'NotIn': spec.masters[0].m.selector.matchExpressions[0].values" + advice},
		{"key of a worker's", one + "workers: [{w: {selector: {matchExpressions: [{key: '', operator: Exists}]}}}]",
			`Invalid value: "": name part must be non-empty: spec.workers[0].w.selector.matchExpressions[0].key` + advice + "\n" +
				`Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character ` +
				`(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'): ` +
				"spec.workers[0].w.selector.matchExpressions[0].key" + advice},
		{"selects everything", needs("selector: {}"), `master "m" has no host requirements: spec.masters[0].m` + "\n" + nothingAdvice},
	})
}

// A worker with a master's name is on the same host, so their requirements must not contradict each
// other.
func TestContradictions(t *testing.T) {
	const advice = "\na worker with a master's name is the same host: write it once, or give the worker another name"
	two := func(master, worker string) string {
		return "masters: [{m: {" + master + "}}]\nworkers: [{m: {" + worker + "}}]"
	}
	checkRules(t, []rule{
		{"architecture", two("architecture: amd64", "architecture: aarch64"),
			`"aarch64" contradicts spec.masters[0].m.architecture ("x86_64"): spec.workers[0].m.architecture` + advice},
		{"product", two("system: {product: R740}", "system: {vendor: Dell, product: R640}"),
			`"R640" contradicts spec.masters[0].m.system.product ("R740"): spec.workers[0].m.system.product` + advice},
		{"two ways to write one", two("architecture: amd64, cpuModel: intel*", "architecture: x86_64, cpuModel: Intel*"), ""},
	})
}

// A node with any single one of these requirements passes validation.
func TestEveryRequirementSaysSomething(t *testing.T) {
	for _, text := range []string{
		"cpu: 1", "memory: 1Gi", "sriov: true", "qat: true", "selector: {matchLabels: {a: b}}", "selector: {matchExpressions: [{key: a, operator: Exists}]}",
		"architecture: arm64", "cpuModel: '*'", "cpuFlags: [avx]", "cpuClockMHz: 2400", "disks: [{}]", "nics: [{}]", "system: {vendor: Dell}", "firmware: {date: '*'}",
	} {
		for _, spec := range []string{needs(text), one + "workers: [{w: {" + text + "}}]", set(text)} {
			if errs, warnings := findings(context.Background(), provisioning(t, spec)); errs+warnings != "" {
				t.Errorf("%s: %s%s", spec, errs, warnings)
			}
		}
	}
}

func TestHardwareWarnings(t *testing.T) {
	for _, r := range []rule{
		{"CPUs", needs("cpu: 10000"), "10000 CPU threads is unusually high: cpu counts whole threads: spec.masters[0].m.cpu"},
		{"clock", needs("cpuClockMHz: 2400000"), "2400000 MHz is unusually high: cpuClockMHz is in MHz: spec.masters[0].m.cpuClockMHz"},
		{"speed", needs("nics: [{minSpeedGbps: 25000}]"), "25000 Gbit/s is unusually high: minSpeedGbps is in Gbit/s: spec.masters[0].m.nics[0].minSpeedGbps"},
		{"an even control plane of sets", one + "nodeSets: [{name: c, role: control-plane, count: {active: 3, standby: 1}}]",
			"4 control plane nodes tolerate no more failures than 3, because etcd needs a majority of them: add one or remove one: spec.nodeSets"},
		{"standbys do not count", one + "nodeSets: [{name: c, role: control-plane, count: {active: 2, standby: 1}}]", ""},
	} {
		t.Run(r.name, func(t *testing.T) {
			errs, got := findings(context.Background(), provisioning(t, r.spec))
			if diff := cmp.Diff([]string{"", r.want}, []string{errs, got}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
