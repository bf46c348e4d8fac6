package hostcache

import (
	"fmt"
	"runtime"
	"testing"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// large is a host as inspection leaves it, with much that nobody here reads.
func large(n int) (*metal3.BareMetalHost, *metal3.HardwareData) {
	h := &metal3.BareMetalHost{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("host-%d", n), Namespace: "site", UID: "7f8e6c1e-0000-0000-0000-000000000000",
		ManagedFields: []metav1.ManagedFieldsEntry{{FieldsV1: &metav1.FieldsV1{Raw: make([]byte, 8<<10)}}},
	}}
	d := details()
	for i := range 16 {
		d.Storage = append(d.Storage, metal3.Storage{Name: fmt.Sprintf("/dev/disk/by-path/%d-%d", n, i), Model: "SSD"})
	}
	for i := range 200 {
		d.CPU.Flags = append(d.CPU.Flags, fmt.Sprintf("flag-%d-%d", n, i))
	}
	h.Status.HardwareDetails = d
	return h, &metal3.HardwareData{ObjectMeta: h.ObjectMeta, Spec: metal3.HardwareDataSpec{HardwareDetails: d.DeepCopy()}}
}

// TestTenThousandHosts: a large site's hosts fit beside everything else into 100 MiB.
func TestTenThousandHosts(t *testing.T) {
	const hosts, most = 10_000, 40 << 20
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	kept := make([]any, 0, 2*hosts)
	for n := range hosts {
		host, data := large(n)
		h, err1 := stripHost(host)
		d, err2 := stripHardware(data)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		kept = append(kept, h, d)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if used := int64(after.HeapAlloc) - int64(before.HeapAlloc); used > most {
		t.Errorf("%d hosts take %d MiB, want at most %d", hosts, used>>20, most>>20)
	} else {
		t.Logf("%d hosts take %d MiB", hosts, used>>20)
	}
	runtime.KeepAlive(kept)
}
