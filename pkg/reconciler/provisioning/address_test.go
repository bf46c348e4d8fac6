package provisioning

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

// withAddress gives the API servers an address.
func withAddress(mode v1alpha1.APIMode, address string) func(*v1alpha1.Provisioning) {
	return func(p *v1alpha1.Provisioning) {
		p.Spec.Kubernetes.API = &v1alpha1.APISpec{Mode: mode, Address: address, Port: 6443}
	}
}

// TestAddressInUse: no run starts for a cluster whose address somebody else has, and the condition names that one.
func TestAddressInUse(t *testing.T) {
	const address = "10.0.0.5"
	other := func(namespace string, age time.Duration, changes ...func(*v1alpha1.Provisioning)) []runtime.Object {
		return []runtime.Object{edge(append([]func(*v1alpha1.Provisioning){withAddress(v1alpha1.APIVIP, address), func(p *v1alpha1.Provisioning) {
			p.Namespace, p.Name, p.UID, p.CreationTimestamp = namespace, "edge-2", "uid-2", metav1.NewTime(now.Add(-age))
			p.Spec.HostNamespace = site
		}}, changes...)...)}
	}
	begun := func(p *v1alpha1.Provisioning) { p.Status.InstalledDigest = "sha256:1" }
	external := func(p *v1alpha1.Provisioning) { p.Spec.Kubernetes.API.Mode = v1alpha1.APIExternal }
	elsewhere := func(p *v1alpha1.Provisioning) { p.Spec.HostNamespace = "pool" }
	for what, row := range map[string]struct {
		address string // of a card of the host
		mode    v1alpha1.APIMode
		others  []runtime.Object
		want    string
	}{
		"nobody has it":                          {"10.0.0.1", v1alpha1.APIVIP, nil, ""},
		"a host has it":                          {address, v1alpha1.APIVIP, nil, "is that of host host-1"},
		"a load balancer on a host":              {address, v1alpha1.APIExternal, nil, ""},
		"an older cluster":                       {"10.0.0.1", v1alpha1.APIVIP, other(site, 2*time.Hour), "is that of Provisioning edge-2: write one that nobody has"},
		"a younger cluster":                      {"10.0.0.1", v1alpha1.APIVIP, other(site, time.Minute), ""},
		"a younger cluster that has begun":       {"10.0.0.1", v1alpha1.APIVIP, other(site, time.Minute, begun), "is that of Provisioning edge-2"},
		"an older cluster of another namespace":  {"10.0.0.1", v1alpha1.APIVIP, other("tenant-b", 2*time.Hour), "is that of a cluster in another namespace"},
		"an older cluster with other hosts":      {"10.0.0.1", v1alpha1.APIVIP, other(site, 2*time.Hour, elsewhere), ""},
		"that of another one's load balancer":    {"10.0.0.1", v1alpha1.APIVIP, other(site, 2*time.Hour, external), "is that of Provisioning edge-2"},
		"its load balancer moves in another one": {"10.0.0.1", v1alpha1.APIExternal, other(site, 2*time.Hour), "is that of Provisioning edge-2"},
		"two clusters behind a load balancer":    {"10.0.0.1", v1alpha1.APIExternal, other(site, 2*time.Hour, external), ""},
	} {
		t.Run(what, func(t *testing.T) {
			pool := fitting()
			pool.all[0].NICs[0].IPs = []netip.Addr{netip.MustParseAddr(row.address)}
			p := edge(withAddress(row.mode, address), func(p *v1alpha1.Provisioning) { p.CreationTimestamp = metav1.NewTime(now.Add(-time.Hour)) })
			w := newFixture(t, pool, append([]runtime.Object{p, sshKey()}, row.others...), nil)
			_ = w.visit(t, at)
			ready := w.stored(t).Status.GetCondition(v1alpha1.ConditionReady)
			if row.want == "" {
				if w.runNamed(t, "edge-1-install-1") == nil {
					t.Errorf("no run starts: %v", ready)
				}
				return
			}
			if w.runNamed(t, "edge-1-install-1") != nil || !ready.IsFalse() || ready.Reason != "AddressInUse" || !strings.Contains(ready.Message, row.want) {
				t.Errorf("condition %v, want %q", ready, row.want)
			}
		})
	}
}

// TestOwnAddress: after the first run, what a host of the cluster has does not count: it is the address that moves.
func TestOwnAddress(t *testing.T) {
	p := edge(withAddress(v1alpha1.APIVIP, "10.0.0.5"))
	ours := hosts.Host{Name: "host-1", Holder: &hosts.Holder{Namespace: site, Name: name}, NICs: []hosts.NIC{{IPs: []netip.Addr{netip.MustParseAddr("10.0.0.5")}}}}
	if got := hostWith(p, []hosts.Host{ours}); got != "host-1" {
		t.Errorf("before the first run: %q", got)
	}
	p.Status.Run = &v1alpha1.RunStatus{}
	if got := hostWith(p, []hosts.Host{ours}); got != "" {
		t.Errorf("after the first run: %q", got)
	}
	ours.Holder = nil
	p.Status.InstalledDigest = "sha256:1"
	if got, err := (&Reconciler{}).addressTaken(p, []hosts.Host{ours}); got != "" || err != nil {
		t.Errorf("a repair of an installed cluster waits: %q, %v", got, err)
	}
	if got := hostWith(p, []hosts.Host{ours}); got != "host-1" {
		t.Errorf("another host: %q", got)
	}
}
