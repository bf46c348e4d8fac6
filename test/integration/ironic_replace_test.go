//go:build integration

package integration

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/contract"
)

const replaceNamespace = "ironic-replace" // namespace of this file's hosts

// TestIronicReplacesOneHost checks what a host that fails to receive its image costs the others.
// One host fails twice, and Metal3 succeeds at its third try. Another host fails every time, and
// the task replaces it alone. Each good host boots only once for an installation, and its disk has
// the image. The real select-hosts, Metal3, Ironic and ironic-python-agent do this.
func TestIronicReplacesOneHost(t *testing.T) {
	metal3Program := buildMetal3(t)
	ctx, stop := context.WithTimeout(t.Context(), ironicLimit)
	defer stop()
	c, err := accountClient(shared.kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	boots := map[string]int{"a-good": 1, "b-good": 1, "c-fails-twice": 3, "d-broken": 3, "e-spare": 1}
	names := slices.Sorted(maps.Keys(boots))
	site := newIronicSite(t, names...)
	site.rack.machines["c-fails-twice"].broken, site.rack.machines["d-broken"].broken = 2, 1000
	raw := diskImage()
	site.depot.put(t, "/v1/baremetalcluster/"+uploads+"os_images/disk.raw/content", raw)
	must(t, "", "create", "namespace", replaceNamespace)
	must(t, "", "create", "secret", "generic", "user", "-n", replaceNamespace, "--from-literal=userData="+userData)
	startMetal3(t, ctx, metal3Program, replaceNamespace, site.metal3Environment(t))
	for _, name := range names {
		m := site.rack.machines[name]
		enroll(t, ctx, c, replaceNamespace, m.n, name, m.mac, site.rack.bmcAddress(m))
	}
	awaitHosts(t, ctx, c, replaceNamespace, names, metal3.StateAvailable)

	url := "http://" + site.depot.plain + "/files/os_images/" + uploads + "disk.raw"
	request := contract.Request{
		Spec: contract.Spec{
			Provisioning: "edge-1", Namespace: replaceNamespace, UID: "uid",
			OSImage: &contract.OSImage{URL: url, Checksum: url + ".sha256sum", ChecksumType: "auto", Format: "raw", UserData: "user"},
		},
	}
	for n := range 4 {
		request.Slots = append(request.Slots, contract.Slot{Name: fmt.Sprintf("node-%d", n+1), Roles: []string{contract.RoleWorker}})
	}
	out, log, err := selectHosts(t, ctx, c, request)
	t.Logf("the log of select-hosts:\n%s", log)
	if want := "node-1=a-good node-2=b-good node-3=c-fails-twice node-4=e-spare"; err != nil || out.Hosts != want {
		t.Fatalf("%+v, %v; want %s", out, err, want)
	}
	site.rack.mu.Lock()
	defer site.rack.mu.Unlock()
	got := map[string]int{}
	for name, m := range site.rack.machines {
		got[name] = m.boots
		if name != "d-broken" {
			m.checkDisk(t, raw)
		}
	}
	if diff := cmp.Diff(boots, got); diff != "" {
		t.Errorf("boots from the network (-want +got):\n%s", diff)
	}
	failed := &metal3.BareMetalHost{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: replaceNamespace, Name: "d-broken"}, failed); err != nil {
		t.Fatal(err)
	}
	if failed.Spec.ConsumerRef != nil || failed.Spec.Image != nil || failed.Status.Provisioning.State != metal3.StateAvailable {
		t.Errorf("the failed host is not deprovisioned and released: %s, %+v", failed.Status.Provisioning.State, failed.Spec)
	}
}
