package assign

import (
	"reflect"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

// server returns a host in which every fact is known.
func server() hosts.Host {
	return hosts.Host{
		Name: "host-1", CPU: 64, Memory: 256 << 30, Architecture: "x86_64", CPUModel: "Intel(R) Xeon(R) Gold 6248R CPU @ 3.00GHz",
		CPUFlags: []string{"aes", "avx512f", "vmx"}, CPUClock: 3000, Vendor: "Dell Inc.", Product: "PowerEdge R740",
		Firmware: contract.Firmware{Vendor: "Dell Inc.", Version: "2.21.2", Date: "02/19/2024"}, SRIOV: true, QAT: true,
		Labels: map[string]string{"rack": "r1", "ssd": ""},
		Disks:  []hosts.Disk{{Size: 480e9, Type: "SSD"}, {Size: 960e9, Type: "NVME"}, {Size: 960e9, Type: "NVME"}},
		NICs:   []hosts.NIC{{Speed: 25, Model: "0x8086 0x158b", SRIOV: true}, {Speed: 25, Model: "0x8086 0x158b", SRIOV: true}, {Speed: 1, Model: "0x14e4 0x165f"}},
	}
}

func TestShortfall(t *testing.T) {
	type needs = contract.Needs
	label := func(key, operator string, values ...string) []contract.LabelTerm {
		return []contract.LabelTerm{{Key: key, Operator: operator, Values: values}}
	}
	disks := func(count int, size int64, kind string) []contract.DiskNeed {
		return []contract.DiskNeed{{Count: count, Size: size, Type: kind}}
	}
	for _, tc := range []struct {
		met, unmet needs
		want       string
	}{
		{needs{CPU: 64}, needs{CPU: 65}, "below 65 CPUs"},
		{needs{Memory: 256 << 30}, needs{Memory: 257 << 30}, "below 257Gi"},
		{needs{CPUClock: 3000}, needs{CPUClock: 3001}, "below 3001 MHz"},
		{needs{Architecture: "x86_64"}, needs{Architecture: "aarch64"}, "not aarch64"},
		{needs{CPUModel: "intel*gold*"}, needs{CPUModel: "AMD EPYC*"}, "not of CPU model AMD EPYC*"},
		{needs{CPUFlags: []string{"vmx", "AVX512F"}}, needs{CPUFlags: []string{"vmx", "svm", "sev"}}, "without CPU flag svm"},
		{needs{Disks: disks(3, 0, "")}, needs{Disks: disks(4, 0, "")}, "with fewer than 4 disks"},
		{needs{Disks: disks(2, 960e9, "NVME")}, needs{Disks: disks(3, 960e9, "NVME")}, "with fewer than 3 NVMe disks of 960G"},
		{needs{Disks: disks(1, 480e9, "ssd")}, needs{Disks: disks(1, 481e9, "SSD")}, "with fewer than 1 SSD disk of 481G"},
		{needs{Disks: disks(1, 1<<30, "")}, needs{Disks: disks(1, 1<<40, "")}, "with fewer than 1 disk of 1024Gi"},
		{needs{Disks: append(disks(2, 0, ""), disks(1, 960e9, "")...)}, needs{Disks: append(disks(3, 0, ""), disks(1, 1920e9, "")...)},
			"with fewer than 1 disk of 1.92T"},
		// A disk counts once. The first item takes the SSD, because the second one needs both NVMe disks.
		{needs{Disks: append(disks(1, 480e9, ""), disks(2, 960e9, "NVME")...)}, needs{Disks: append(disks(2, 0, ""), disks(2, 960e9, "NVME")...)},
			"with fewer than 2 NVMe disks of 960G beside 2 disks"},
		{needs{NICs: []contract.NICNeed{{Count: 1}, {Count: 2, Speed: 25}}}, needs{NICs: []contract.NICNeed{{Count: 1, Speed: 10}, {Count: 1}, {Count: 2, SRIOV: true}}},
			"with fewer than 2 NICs with SR-IOV beside 1 NIC of 10 Gbit/s and 1 NIC"},
		{needs{NICs: []contract.NICNeed{{Count: 2, Speed: 25, Model: "0x8086 0x15??", SRIOV: true}}},
			needs{NICs: []contract.NICNeed{{Count: 2, Speed: 25, Model: "0x15b3*", SRIOV: true}}},
			"with fewer than 2 NICs of 25 Gbit/s and model 0x15b3* with SR-IOV"},
		{needs{NICs: []contract.NICNeed{{Count: 3}}}, needs{NICs: []contract.NICNeed{{Count: 3, SRIOV: true}}}, "with fewer than 3 NICs with SR-IOV"},
		{needs{Vendor: "dell*"}, needs{Vendor: "HPE"}, "not of vendor HPE"},
		{needs{Product: "*R7?0"}, needs{Product: "*R6?0"}, "not of product *R6?0"},
		{needs{Firmware: &contract.Firmware{Vendor: "Dell*", Version: "2.*", Date: "*/2024"}},
			needs{Firmware: &contract.Firmware{Vendor: "Dell*", Version: "3.*"}}, "without BIOS version 3.*"},
		{needs{}, needs{Firmware: &contract.Firmware{Vendor: "AMI"}}, "without BIOS vendor AMI"},
		{needs{}, needs{Firmware: &contract.Firmware{Date: "*/2026"}}, "without BIOS date */2026"},
		{needs{Labels: label("rack", "In", "r2", "r1")}, needs{Labels: label("rack", "In", "r2", "r3")}, "without label rack in (r2, r3)"},
		{needs{Labels: label("rack", "In", "r1")}, needs{Labels: label("rack", "In", "r2")}, "without label rack=r2"},
		{needs{Labels: label("zone", "NotIn", "z1")}, needs{Labels: label("rack", "NotIn", "r1")}, "with label rack=r1"},
		{needs{Labels: label("ssd", "Exists")}, needs{Labels: label("gpu", "Exists")}, "without label gpu"},
		{needs{Labels: label("gpu", "DoesNotExist")}, needs{Labels: label("ssd", "DoesNotExist")}, "with label ssd"},
		{needs{}, needs{Labels: label("rack", "Near", "r1")}, "without label rack"},
		{needs{}, needs{CPU: 65, Labels: label("gpu", "Exists")}, "without label gpu"},
	} {
		t.Run(tc.want, func(t *testing.T) {
			h := server()
			if got := shortfall(&tc.met, &h); got != "" || !meets(&tc.met, &h) {
				t.Errorf("%+v is not met: %q", tc.met, got)
			}
			if got := shortfall(&tc.unmet, &h); got != tc.want || meets(&tc.unmet, &h) {
				t.Errorf("shortfall = %q, want %q", got, tc.want)
			}
		})
	}
	h := server()
	h.SRIOV, h.QAT = false, false
	for want, n := range map[string]needs{"without SR-IOV": {SRIOV: true}, "without QAT": {QAT: true}} {
		if got := shortfall(&n, &h); got != want || meets(&n, &h) {
			t.Errorf("shortfall = %q, want %q", got, want)
		}
	}
}

// everything sets each field of Needs. If a field is added and the package does not check it,
// TestUnknownFactMeetsNothing fails.
func everything() contract.Needs {
	return contract.Needs{
		CPU: 8, Memory: 16 << 30, SRIOV: true, QAT: true, Architecture: "x86_64", CPUModel: "*", CPUFlags: []string{"aes"}, CPUClock: 1,
		Labels: []contract.LabelTerm{{Key: "rack", Operator: "Exists"}}, Disks: []contract.DiskNeed{{Count: 1}}, NICs: []contract.NICNeed{{Count: 1}},
		Vendor: "*", Product: "*", Firmware: &contract.Firmware{Version: "*"},
	}
}

// TestUnknownFactMeetsNothing checks that a host without known facts meets no requirement, not even
// the pattern *.
func TestUnknownFactMeetsNothing(t *testing.T) {
	all := reflect.ValueOf(everything())
	for i := range all.NumField() {
		var one contract.Needs
		reflect.ValueOf(&one).Elem().Field(i).Set(all.Field(i))
		t.Run(all.Type().Field(i).Name, func(t *testing.T) {
			if all.Field(i).IsZero() {
				t.Fatal("everything() does not set it")
			}
			known := server()
			if got := shortfall(&one, &known); got != "" {
				t.Errorf("a host with all facts is %q", got)
			}
			if shortfall(&one, &hosts.Host{}) == "" || meets(&one, &hosts.Host{}) {
				t.Error("a host without facts meets it")
			}
			if needsText(one) == "" {
				t.Error("needsText does not mention it")
			}
		})
	}
	if got := shortfall(&contract.Needs{}, &hosts.Host{}); got != "" || !meets(&contract.Needs{}, &hosts.Host{}) {
		t.Errorf("empty needs give %q", got)
	}
}

func TestNeedsText(t *testing.T) {
	n := everything()
	n.CPUFlags = []string{"aes", "avx512f"}
	n.Labels = []contract.LabelTerm{
		{Key: "rack", Operator: "In", Values: []string{"r1", "r2"}}, {Key: "gpu", Operator: "DoesNotExist"},
		{Key: "zone", Operator: "NotIn", Values: []string{"z1"}}, {Key: "ssd", Operator: "Exists"},
	}
	n.Disks = []contract.DiskNeed{{Count: 2, Size: 960e9, Type: "NVME"}}
	n.NICs = []contract.NICNeed{{Count: 2, Speed: 25, SRIOV: true}}
	n.Firmware = &contract.Firmware{Vendor: "A*", Version: "2.*", Date: "*"}
	want := "8 CPUs, 16Gi, SR-IOV, QAT, 1 MHz, x86_64, CPU model *, CPU flags aes, avx512f, 2 NVMe disks of 960G, 2 NICs of 25 Gbit/s with SR-IOV, " +
		"vendor *, product *, BIOS vendor A*, BIOS version 2.*, BIOS date *, label rack in (r1, r2), no label gpu, not label zone=z1, label ssd"
	if got := needsText(n); got != want {
		t.Errorf("needsText =\n%s\nwant\n%s", got, want)
	}
	if got := needsText(contract.Needs{}); got != "" {
		t.Errorf("needsText of nothing = %q", got)
	}
}

// TestMeetsAllocatesNothing checks that meets allocates no memory: it is called millions of times
// in one assignment.
func TestMeetsAllocatesNothing(t *testing.T) {
	n, h := everything(), server()
	if !meets(&n, &h) {
		t.Fatal(shortfall(&n, &h))
	}
	if got := testing.AllocsPerRun(100, func() { meets(&n, &h); shortfall(&n, &h) }); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

func BenchmarkMeets(b *testing.B) {
	n, h := everything(), server()
	for b.Loop() {
		meets(&n, &h)
	}
}

// BenchmarkMeetsNumbers measures the most frequent requirements: threads and memory.
func BenchmarkMeetsNumbers(b *testing.B) {
	n, h := contract.Needs{CPU: 8, Memory: 16 << 30}, server()
	for b.Loop() {
		meets(&n, &h)
	}
}
