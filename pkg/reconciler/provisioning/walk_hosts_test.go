package provisioning

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/claim"
	"github.com/akraino-icn/bpa/pkg/hosts/facts"
)

// simMachine is a machine. It is that of the BareMetalHost with this UID.
type simMachine struct {
	uid, host, address string
	dead               bool // for good
	silent             bool // for now: it does not answer, and its kubelet has no heartbeat
	// user is the UID of the Provisioning that has left something on it; empty: it is empty. node is the name of its
	// node.
	user, node string
	// key is the fingerprint of the key of a cluster that it accepts; empty: none.
	key string
}

func (m *simMachine) answers() bool { return !m.dead && !m.silent }

// newHost adds a machine with a BareMetalHost. It has another address than all earlier ones.
func (w *simSite) newHost(name string) {
	w.made++
	uid := fmt.Sprintf("machine-%d", w.made)
	address := netip.AddrFrom4([4]byte{10, 60, byte(w.made / 200), byte(1 + w.made%200)}).String()
	h := &metal3.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: site, Name: name, UID: types.UID(uid)}}
	h.Spec.Online, h.Spec.ExternallyProvisioned = true, true
	h.Spec.BootMACAddress = fmt.Sprintf("02:00:00:00:%02x:%02x", w.made/256, w.made%256)
	if w.made%2 == 0 { // Metal3 can power off every second machine
		h.Spec.BMC.Address = "ipmi://" + name
	}
	h.Status.PoweredOn, h.Status.OperationalStatus, h.Status.Provisioning.State = true, metal3.OperationalStatusOK, metal3.StateExternallyProvisioned
	h.Status.HardwareDetails = &metal3.HardwareDetails{
		CPU: metal3.CPU{Arch: "x86_64", Count: 8}, RAMMebibytes: 1 << 14,
		NIC: []metal3.NIC{{Name: "eth0", MAC: h.Spec.BootMACAddress, IP: address}},
	}
	w.server.set(kindHost, h)
	w.machines[uid] = &simMachine{uid: uid, host: name, address: address}
}

// machineOf returns the machine of a node; nil: it does not exist any more.
func (w *simSite) machineOf(n contract.Node) *simMachine { return w.machines[n.HostUID] }

// power lets Metal3 switch machines on and off as their hosts request.
func (w *simSite) power() {
	for _, h := range simList[*metal3.BareMetalHost](w.server, kindHost) {
		if h.Spec.BMC.Address != "" && h.Spec.Online != h.Status.PoweredOn {
			simChange(w.server, kindHost, h.Name, func(h *metal3.BareMetalHost) { h.Status.PoweredOn = h.Spec.Online })
			if m := w.machines[string(h.UID)]; m != nil {
				m.silent = !h.Spec.Online
			}
		}
	}
}

// factsOf returns the facts of a host. The object never changes, so its facts are the same each time.
func (w *simSite) factsOf(h *metal3.BareMetalHost) hosts.Host {
	known, ok := w.facts[h]
	if !ok {
		if len(w.facts) > 1000 {
			clear(w.facts)
		}
		known = facts.Of(h, nil)
		w.facts[h] = known
	}
	return known
}

// simHosts are the hosts as the controller sees and changes them.
type simHosts struct {
	w    *simSite
	c    *simClient
	live client.Client
}

func (f simHosts) cached() (all []hosts.Host) {
	for _, o := range f.w.server.caches[kindHost].List() {
		all = append(all, f.w.factsOf(o.(*metal3.BareMetalHost)))
	}
	slices.SortFunc(all, func(a, b hosts.Host) int { return compareNames(a.Name, b.Name) })
	return all
}

func (f simHosts) current() (all []hosts.Host, err error) {
	for _, h := range simList[*metal3.BareMetalHost](f.w.server, kindHost) {
		all = append(all, f.w.factsOf(h))
	}
	if f.c.dead {
		return nil, errDead
	}
	return all, nil
}

func heldBy(all []hosts.Host, owner hosts.Owner) []hosts.Host {
	return slices.DeleteFunc(all, func(h hosts.Host) bool { return !owner.Holds(h) })
}

func calledHosts(all []hosts.Host, names []string) []hosts.Host {
	return slices.DeleteFunc(all, func(h hosts.Host) bool { return !slices.Contains(names, h.Name) })
}

func (f simHosts) All(context.Context, string) ([]hosts.Host, error) { return f.cached(), nil }

func (f simHosts) Tenancy(context.Context, hosts.Owner) (hosts.Tenancy, error) {
	return hosts.Tenancy{}, nil
}

func (f simHosts) Held(_ context.Context, owner hosts.Owner) ([]hosts.Host, error) {
	return heldBy(f.cached(), owner), nil
}

func (f simHosts) HeldLive(_ context.Context, owner hosts.Owner) ([]hosts.Host, error) {
	all, err := f.current()
	return heldBy(all, owner), err
}

func (f simHosts) Named(_ context.Context, _ string, names []string) ([]hosts.Host, error) {
	return calledHosts(f.cached(), names), nil
}

func (f simHosts) NamedLive(_ context.Context, _ string, names []string) ([]hosts.Host, error) {
	all, err := f.current()
	return calledHosts(all, names), err
}

func (f simHosts) NetworkDataSecrets(context.Context, string, []string) ([]string, error) {
	return nil, nil
}

func (f simHosts) Release(ctx context.Context, owner hosts.Owner) (released []string, leaving []hosts.Leaving, err error) {
	held, err := f.HeldLive(ctx, owner)
	if err != nil {
		return nil, nil, err
	}
	return f.GiveBack(ctx, owner, hostNames(held))
}

func (f simHosts) Retain(ctx context.Context, owner hosts.Owner) ([]string, error) {
	return claim.Retain(ctx, f.live, owner)
}

// GiveBack and the methods after it change one host after the other, so that a seed always gives the same order.
func (f simHosts) GiveBack(ctx context.Context, owner hosts.Owner, names []string) (released []string, leaving []hosts.Leaving, err error) {
	for _, name := range names {
		done, leaves, failed := claim.Release(ctx, f.live, owner, []string{name})
		if released, leaving = append(released, done...), append(leaving, leaves...); failed != nil {
			err = failed
		}
	}
	return released, leaving, err
}

func (f simHosts) each(names []string, do func(name []string) ([]string, error)) (changed []string, err error) {
	for _, name := range names {
		done, failed := do([]string{name})
		if changed = append(changed, done...); failed != nil {
			err = failed
		}
	}
	return changed, err
}

func (f simHosts) ReleaseGivenUp(ctx context.Context, owner hosts.Owner, names []string) ([]string, error) {
	return f.each(names, func(name []string) ([]string, error) { return claim.ReleaseGivenUp(ctx, f.live, owner, name) })
}

func (f simHosts) Mark(ctx context.Context, owner hosts.Owner, user contract.User, names []string) ([]string, error) {
	return f.each(names, func(name []string) ([]string, error) { return claim.Mark(ctx, f.live, owner, user, name) })
}

func (f simHosts) Unmark(ctx context.Context, owner hosts.Owner, names []string) ([]string, error) {
	return f.each(names, func(name []string) ([]string, error) { return claim.Unmark(ctx, f.live, owner, name) })
}

func (f simHosts) PowerOn(ctx context.Context, owner hosts.Owner, names []string) ([]string, error) {
	return f.each(names, func(name []string) ([]string, error) { return claim.PowerOn(ctx, f.live, owner, name) })
}

func (f simHosts) Fence(ctx context.Context, owner hosts.Owner, user contract.User, names []string, at time.Time) ([]string, error) {
	return f.each(names, func(name []string) ([]string, error) { return claim.Fence(ctx, f.live, owner, user, name, at) })
}

func (f simHosts) Unfence(ctx context.Context, owner hosts.Owner, names []string) ([]string, error) {
	return f.each(names, func(name []string) ([]string, error) { return claim.Unfence(ctx, f.live, owner, name) })
}

func (f simHosts) Image(context.Context, hosts.Owner, contract.OSImage, map[string]string) ([]string, error) {
	panic("no Provisioning of the walk has an image")
}

// noHostClient has the methods of simHostClient that nobody calls.
type noHostClient struct{ client.WithWatch }

// simHostClient reads and writes BareMetalHosts at the API server.
type simHostClient struct {
	noHostClient
	c *simClient
}

func (h simHostClient) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	h.c.releasing.Lock() // see Patch
	defer h.c.releasing.Unlock()
	have := simStored[*metal3.BareMetalHost](h.c.s, kindHost, key.Name)
	switch {
	case h.c.dead:
		return errDead
	case have == nil:
		return notFound(kindHost, key.Name)
	}
	have.DeepCopyInto(into.(*metal3.BareMetalHost))
	return nil
}

func (h simHostClient) List(_ context.Context, into client.ObjectList, all ...client.ListOption) error {
	if h.c.dead {
		return errDead
	}
	list, ok := into.(*metal3.BareMetalHostList)
	if !ok {
		return nil // there is no HardwareData
	}
	options := client.ListOptions{}
	options.ApplyOptions(all)
	for _, host := range simList[*metal3.BareMetalHost](h.c.s, kindHost) {
		if options.LabelSelector == nil || options.LabelSelector.Matches(labels.Set(host.Labels)) {
			list.Items = append(list.Items, *host)
		}
	}
	return nil
}

// Patch stores the changed host. A task releases hosts in several goroutines, in any order. A seed must give the same life
// each time, so no task dies at such a write, and the caches show these writes in the order of the hosts' names.
func (h simHostClient) Patch(_ context.Context, o client.Object, _ client.Patch, _ ...client.PatchOption) error {
	changed := o.(*metal3.BareMetalHost)
	do := func() error {
		have := simStored[*metal3.BareMetalHost](h.c.s, kindHost, changed.Name)
		switch {
		case have == nil:
			return notFound(kindHost, changed.Name)
		case have.ResourceVersion != changed.ResourceVersion:
			return conflict(kindHost, changed.Name)
		}
		next := changed.DeepCopy()
		h.c.s.set(kindHost, next)
		changed.ResourceVersion = next.ResourceVersion
		return nil
	}
	if changed.Spec.ConsumerRef == nil && h.c.pause != nil {
		if h.c.dead {
			return errDead
		}
		h.c.releasing.Lock()
		defer h.c.releasing.Unlock()
		defer h.c.s.sortSince(h.c.before, kindHost)
		return do()
	}
	return h.c.write("patch", kindHost, changed.Name, do)
}
