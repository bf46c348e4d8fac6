package cache

import (
	"fmt"
	"runtime"
	"testing"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/facts"
)

// large returns a server with the facts of an inspection: one of eight kinds of servers, with four
// network cards, sixteen disks and 200 CPU flags. The server is held and labelled, and has many
// fields that the cache does not need.
func large(n int) (*metal3.BareMetalHost, *metal3.HardwareData) {
	kind := n % 8
	h := &metal3.BareMetalHost{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("host-%d", n), Namespace: fmt.Sprint("site-", kind), UID: "7f8e6c1e-0000-0000-0000-000000000000",
		Labels:        map[string]string{},
		ManagedFields: []metav1.ManagedFieldsEntry{{FieldsV1: &metav1.FieldsV1{Raw: make([]byte, 8<<10)}}},
	}}
	for i := range 6 {
		h.Labels[fmt.Sprintf("site.example.org/label-%d", i)] = fmt.Sprintf("value-%d-%d", i, n)
	}
	h.Spec.ConsumerRef = &corev1.ObjectReference{APIVersion: "bpa.akraino.org/v1alpha1", Kind: "Provisioning", Name: fmt.Sprintf("edge-%d", n)}
	h.Spec.Image = &metal3.Image{URL: fmt.Sprintf("http://site/image-%d.qcow2", kind), Checksum: "x"}
	d := details()
	d.NIC, d.Storage, d.CPU.Flags = nil, nil, nil
	d.CPU.Model = fmt.Sprintf("Intel(R) Xeon(R) Gold 62%02dR CPU @ 3.00GHz", kind)
	for i := range 4 {
		d.NIC = append(d.NIC, metal3.NIC{
			Name: fmt.Sprintf("ens1f%d", i), MAC: fmt.Sprintf("02:00:00:%02x:%02x:%02x", n>>8, n&255, i), IP: fmt.Sprintf("10.%d.%d.%d", i, n>>8, n&255),
			Model: "0x8086 0x158b", SpeedGbps: 25,
		})
	}
	for i := range 16 {
		d.Storage = append(d.Storage, metal3.Storage{
			Name: fmt.Sprintf("/dev/disk/by-path/%d-%d", n, i), Model: "PM1733", Type: metal3.NVME, SizeBytes: metal3.Capacity(i+kind+1) * metal3.TeraByte,
		})
	}
	for i := range 200 {
		d.CPU.Flags = append(d.CPU.Flags, fmt.Sprintf("flag_%d_%d", kind, 200-i))
	}
	h.Status.HardwareDetails = d
	return h, &metal3.HardwareData{ObjectMeta: h.ObjectMeta, Spec: metal3.HardwareDataSpec{HardwareDetails: d.DeepCopy()}}
}

// TestTenThousandHosts checks that the hosts of a large site, and the facts of these hosts, fit
// into a small controller.
func TestTenThousandHosts(t *testing.T) {
	const count, most = 10_000, 64 << 20
	before := heap()
	kept := make([]any, 0, 2*count)
	for n := range count {
		host, data := large(n)
		h, err1 := stripHost(host)
		d, err2 := stripHardware(data)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		kept = append(kept, h, d)
	}
	stripped := heap() - before
	if stripped > most {
		t.Errorf("%d hosts take %d MiB, want at most %d", count, stripped>>20, most>>20)
	}
	site := make([]hosts.Host, 0, count)
	for i := 0; i < len(kept); i += 2 {
		site = append(site, facts.Of(kept[i].(*metal3.BareMetalHost), kept[i+1].(*metal3.HardwareData)))
	}
	t.Logf("%d hosts take %d MiB in the cache, and %d more while they are assigned", count, stripped>>20, (heap()-before-stripped)>>20)
	runtime.KeepAlive(kept)
	runtime.KeepAlive(site)
}

// heap returns the memory in use, in bytes.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func BenchmarkFacts(b *testing.B) {
	host, data := large(1)
	h, _ := stripHost(host)
	d, _ := stripHardware(data)
	b.ReportAllocs()
	for b.Loop() {
		facts.Of(h.(*metal3.BareMetalHost), d.(*metal3.HardwareData))
	}
}
