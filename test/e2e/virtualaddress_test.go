//go:build e2e

package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/test/site"
)

// virtualAddress is in the network of the lab's machines, below the addresses of machines and pods, so that nobody has it.
const virtualAddress = "10.60.0.5"

// moving is an address of the API servers that moves between the control planes.
type moving struct {
	*life
	balancer // for its address: requests to it, and how long it does not answer
}

// TestVirtualAddress installs a cluster whose API servers have an address that moves, and lets it get three control planes. The
// machine that has the address is switched off, and then another one is lost: the address answers again within 5 s, and
// stays the same. After the deletion, no machine has it.
func TestVirtualAddress(t *testing.T) {
	const outer = "api.edge-61.example"
	s := site.NewTenant(t, "e2e-vip", 5, 0)
	s.Apply(s.Provisioning("edge-61", masters(1), workers(1), func(p *v1alpha1.Provisioning) {
		delete(p.Spec.Kubespray.Vars, "loadbalancer_apiserver_localhost") // the webhook refuses it beside the field
		p.Spec.ReplacePolicy = v1alpha1.ReplaceAny
		p.Spec.Kubernetes.API = &v1alpha1.APISpec{Mode: v1alpha1.APIVIP, Address: virtualAddress, Names: []string{outer}}
	}))
	v := &moving{
		life: &life{t: t, s: s, limit: 25 * time.Minute},
		// An API server answers /version without etcd, which has no leader for up to 10 s if the machine had it.
		balancer: balancer{t: t, host: virtualAddress, port: v1alpha1.DefaultAPIPort, ask: "/version"},
	}
	v.await("1 control plane and 1 worker with an address that moves", "master-1", "worker-1")
	v.checkAddress(&v.balancer, outer)
	v.expectHolder("master-1")

	growth := v.watch()
	v.edit(masters(3))
	v.await("3 control planes with an address that moves", "master-1", "master-2", "master-3", "worker-1")
	growth.stop()
	t.Logf("while control planes joined, the address did not answer for at most %s", growth.longest()) // their API servers restart
	v.checkAddress(&v.balancer, outer)

	v.switchOff(v.holder())
	lost := v.holder()
	v.fails("the loss of a control plane", func() { v.lose(lost) })
	v.await("another machine for "+lost, "master-1", "master-2", "master-3", "worker-1")
	v.checkAddress(&v.balancer, outer)

	v.edit(masters(1))
	v.await("1 control plane again", "master-1", "worker-1")
	v.checkAddress(&v.balancer, outer)
	v.expectHolder("master-1")

	deleteAndReset(t, s, v.p)
	if host := v.hostWithAddress(); host != "" {
		t.Errorf("%s has the address after the deletion", host)
	}
}

// holders returns the control planes whose machines have the address.
func (v *moving) holders() (names []string) {
	v.life.t.Helper()
	for _, n := range v.p.Status.Nodes {
		if strings.HasPrefix(n.Name, "master-") && v.has(n.Host) {
			names = append(names, n.Name)
		}
	}
	return names
}

// holder returns the control plane that has the address. Exactly one must have it.
func (v *moving) holder() string {
	v.life.t.Helper()
	names := v.holders()
	if len(names) != 1 {
		v.life.t.Fatalf("%q have the address, want one", names)
	}
	return names[0]
}

func (v *moving) expectHolder(want string) {
	v.life.t.Helper()
	if got := v.holder(); got != want {
		v.life.t.Errorf("%s has the address, want %s", got, want)
	}
}

func (v *moving) has(host string) bool {
	v.life.t.Helper()
	return v.s.On(host, "ip -o -4 addr show to "+virtualAddress+"/32") != ""
}

// hostWithAddress returns a host of the site that has the address; empty: none has.
func (v *moving) hostWithAddress() string {
	v.life.t.Helper()
	hosts := v.s.Hosts()
	if i := slices.IndexFunc(hosts, v.has); i >= 0 {
		return hosts[i]
	}
	return ""
}

// fails lets the control plane with the address fail. The address must answer again within 5 s.
func (v *moving) fails(what string, how func()) {
	v.life.t.Helper()
	gap := v.watch()
	how()
	time.AfterFunc(time.Minute, gap.stop) // the failure, and not what a repair does to the API servers
	longest := gap.longest()
	v.life.t.Logf("after %s, the address did not answer for %s", what, longest)
	if longest > 5*time.Second {
		v.life.t.Errorf("after %s, the address did not answer for %s", what, longest)
	}
}

// switchOff switches the machine of a control plane off and on. It is not replaced, and the address stays where it went.
func (v *moving) switchOff(node string) {
	v.life.t.Helper()
	host := hostOf(v.p, node)
	v.fails("the end of "+node, func() { v.s.PowerOff(host) })
	v.awaitHealth(node+" is off", 3*time.Minute, nil, func(p *v1alpha1.Provisioning) bool { return states(p)[node] != v1alpha1.NodeReady })
	v.s.PowerOn(host)
	v.await(node+" is on again", "master-1", "master-2", "master-3", "worker-1")
	v.s.AwaitOn(hostOf(v.p, "worker-1"), "curl -ksf -m 1 https://"+virtualAddress+":6443/livez", time.Minute)
	v.holder()
}
