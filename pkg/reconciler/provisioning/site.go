package provisioning

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/change"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/assign"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/observe"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
)

// Hosts gives the reconciler access to the site's hosts.
type Hosts interface {
	// All returns the hosts of a namespace, from a cache.
	All(ctx context.Context, namespace string) ([]hosts.Host, error)
	// Tenancy returns what the namespace of an owner may do with hosts, from a cache.
	Tenancy(ctx context.Context, owner hosts.Owner) (hosts.Tenancy, error)
	// Held returns the hosts that an owner holds, from a cache.
	Held(ctx context.Context, owner hosts.Owner) ([]hosts.Host, error)
	// HeldLive is like Held, but reads from the API server itself.
	HeldLive(ctx context.Context, owner hosts.Owner) ([]hosts.Host, error)
	// Named returns the hosts with these names, from a cache. It leaves out hosts that do not
	// exist. NamedLive is like Named, but reads from the API server itself.
	Named(ctx context.Context, namespace string, names []string) ([]hosts.Host, error)
	NamedLive(ctx context.Context, namespace string, names []string) ([]hosts.Host, error)
	// NetworkDataSecrets returns the names of the Secrets with the addresses of the named hosts,
	// from a cache.
	NetworkDataSecrets(ctx context.Context, namespace string, names []string) ([]string, error)
	// Release releases every host that the owner holds, and no other host. It reads from the API
	// server itself and returns the names of the released hosts. The hosts in leaving stay held
	// until Metal3 has removed their image.
	Release(ctx context.Context, owner hosts.Owner) (released []string, leaving []hosts.Leaving, err error)
	// Retain is like Release, but leaves the hosts and their images as they are.
	Retain(ctx context.Context, owner hosts.Owner) ([]string, error)
	// GiveBack is like Release, but releases only hosts with these names.
	GiveBack(ctx context.Context, owner hosts.Owner, names []string) (released []string, leaving []hosts.Leaving, err error)
	// ReleaseGivenUp is like GiveBack, but releases only hosts that select-hosts has given up.
	ReleaseGivenUp(ctx context.Context, owner hosts.Owner, names []string) ([]string, error)
	// Mark records on claimed hosts that they contain a part of the user's cluster. Unmark removes
	// such records. Both return the names of the hosts that they changed.
	Mark(ctx context.Context, owner hosts.Owner, user contract.User, names []string) ([]string, error)
	Unmark(ctx context.Context, owner hosts.Owner, names []string) ([]string, error)
	// PowerOn asks Metal3 to switch on those of the named hosts that the owner holds for a node. It
	// returns the names of the hosts that it changed.
	PowerOn(ctx context.Context, owner hosts.Owner, names []string) ([]string, error)
	// Fence asks Metal3 to power off those of the named hosts that the owner holds and that are lost, for the user.
	// Unfence asks Metal3 to power on those that Fence has powered off and that are not lost any more.
	// Both return the names of the hosts that they changed.
	Fence(ctx context.Context, owner hosts.Owner, user contract.User, names []string, at time.Time) ([]string, error)
	Unfence(ctx context.Context, owner hosts.Owner, names []string) ([]string, error)
	// Image asks Metal3 to install the image on claimed hosts. nodes maps the name of each host to
	// its node. Image reads from the API server itself and returns the names of the hosts that it
	// changed.
	Image(ctx context.Context, owner hosts.Owner, image contract.OSImage, nodes map[string]string) ([]string, error)
}

func ownerOf(p *v1alpha1.Provisioning) hosts.Owner {
	return observe.OwnerOf(p)
}

// observeLosses asks the API server itself about the hosts that appear to be lost, because a cache
// may be stale.
func (r *Reconciler) observeLosses(ctx context.Context, p *v1alpha1.Provisioning, seen *plan.Seen) error {
	if names := seen.LostHosts(); len(names) > 0 {
		return r.observeHosts(ctx, p, seen, names, r.hosts.NamedLive, true)
	}
	return nil
}

type lookup func(ctx context.Context, namespace string, names []string) ([]hosts.Host, error)

func (r *Reconciler) observeHosts(ctx context.Context, p *v1alpha1.Provisioning, seen *plan.Seen, names []string, by lookup, live bool) error {
	found, err := by(ctx, p.HostNamespace(), names)
	if err != nil {
		return err
	}
	observe.AddHosts(p, seen, names, found, live)
	return nil
}

// fits returns a host for every node. If there is none for a node, the error is a *assign.NoFit.
func fits(request contract.Request, seen plan.Seen, all []hosts.Host) (assign.Assignment, error) {
	request.Installed, request.PassedOver = installedFor(request, seen), slices.Concat(request.PassedOver, seen.PassOver)
	hosts.MarkInstalled(request, all)
	return assign.Assign(request, all)
}

// installedFor returns the hosts on which a node is or may be installed, except those that are
// replaced because they did not answer, and those of nodes that have left the cluster.
func installedFor(request contract.Request, seen plan.Seen) []string {
	return slices.DeleteFunc(seen.InstalledHosts(), func(name string) bool {
		return slices.Contains(seen.PassOver, name) || slices.Contains(request.Unreset, name)
	})
}

// observeNeeds checks the preconditions of a run that only users can meet: there must be suitable
// hosts and an SSH key to them. It reads the key from the API server itself, and only if there are
// suitable hosts.
//
// If there are no hosts for new nodes, but the cluster also has nodes to remove, the removal comes
// first, because it can free hosts. If there are none for lost nodes, what needs no host goes on without
// them.
func (r *Reconciler) observeNeeds(ctx context.Context, p *v1alpha1.Provisioning, step plan.Step, seen *plan.Seen, now time.Time) error {
	if seen.Deleting { // a reset needs only the key
		return r.observeKey(ctx, p, seen)
	}
	if err := r.observeLosses(ctx, p, seen); err != nil {
		return err
	}
	if err := r.observeBackups(ctx, p, seen); err != nil { // etcd may have lost its majority only now
		return err
	}
	all, err := r.hosts.All(ctx, p.HostNamespace())
	if err != nil {
		return fmt.Errorf("list the hosts of namespace %s: %w", p.HostNamespace(), err)
	}
	addMACs(seen, all)
	if taken, err := r.addressTaken(p, all); err != nil || taken != "" {
		seen.Hosts = &plan.Need{Missing: taken, Reason: plan.ReasonAddressInUse}
		return err
	}
	seen.Hosts = &plan.Need{}
	removes := func() bool { return step.Request.Remove != nil }
	if step, _ = plan.Upcoming(*seen, now); removes() { // another step than before, if a loss is not confirmed
		return r.observeRemoval(ctx, p, step, seen, all, now)
	}
	if step.NeedsNoHosts() {
		return r.observeKey(ctx, p, seen)
	}
	tenancy, err := r.hosts.Tenancy(ctx, ownerOf(p))
	if err != nil {
		return err
	}
	request := step.Request
	var noFit *assign.NoFit
	seen.PassOver = seen.PassedOverHosts()
	if tenancy.Refused != "" {
		return r.observeNoHosts(ctx, p, seen, all, tenancy.Refused, now)
	}
	found, err := fits(request, *seen, all)
	if errors.As(err, &noFit) {
		seen.PassOver = slices.DeleteFunc(seen.PassOver, seen.SoftlyPassedOver)
		found, err = fits(request, *seen, all)
	}
	if errors.As(err, &noFit) {
		return r.observeNoHosts(ctx, p, seen, all, noFit.Error(), now)
	}
	if err != nil {
		return fmt.Errorf("assign hosts: %w", err)
	}
	if over := overLimit(request, tenancy, *seen, hostsOf(found)); over != "" {
		return r.observeNoHosts(ctx, p, seen, all, over, now)
	}
	seen.Qualify(&p.Spec, plan.AssignedTo(found, all))
	if missing := found.MissingStandby(request); len(missing) > 0 {
		if other, ok := plan.WithoutClaim(*seen, missing, now); ok {
			*seen = other
		}
	}
	return r.observeKey(ctx, p, seen)
}

// hostsOf returns the names of the hosts of an assignment.
func hostsOf(found assign.Assignment) (names []string) {
	for _, placed := range found {
		names = append(names, placed.Host)
	}
	return names
}

// observeNoHosts is called if there is no host for a node: a removal, which can free hosts, comes first.
func (r *Reconciler) observeNoHosts(ctx context.Context, p *v1alpha1.Provisioning, seen *plan.Seen, all []hosts.Host, missing string, now time.Time) error {
	seen.RemoveFirst = true
	if step, _ := plan.Upcoming(*seen, now); step.Request.Remove != nil {
		return r.observeRemoval(ctx, p, step, seen, all, now)
	}
	return r.observeWithoutHosts(ctx, p, seen, missing, now)
}

// observeWithoutHosts is called if there is no host for lost nodes: what needs none goes on without them.
func (r *Reconciler) observeWithoutHosts(ctx context.Context, p *v1alpha1.Provisioning, seen *plan.Seen, missing string, now time.Time) error {
	seen.RemoveFirst = false
	if without, ok := plan.WithoutSpare(*seen, missing, now); ok {
		if *seen = without; !plan.Starting(without, now) {
			return nil
		}
		return r.observeKey(ctx, p, seen)
	}
	seen.Hosts.Missing = missing
	return nil
}

// observeRemoval checks the preconditions of a run that removes nodes. If a node is removed only
// because it is pinned to another host, that host must be there: the removal wipes the node's disks,
// and the mac-address in the spec may be wrong. A node that works on a host in quarantine is not removed
// before there is another host for it.
func (r *Reconciler) observeRemoval(ctx context.Context, p *v1alpha1.Provisioning, step plan.Step, seen *plan.Seen, all []hosts.Host, now time.Time) error {
	request, moves := change.Moved(seen.State(), step.Request)
	if !moves {
		return r.observeKey(ctx, p, seen)
	}
	then := *seen
	then.PassOver = slices.DeleteFunc(seen.PassedOverHosts(), seen.SoftlyPassedOver)
	var noFit *assign.NoFit
	_, err := fits(request, then, all)
	if errors.As(err, &noFit) && len(step.Request.Remove.Alive) > 0 {
		return r.observeWithoutHosts(ctx, p, seen, noFit.Error(), now)
	}
	if errors.As(err, &noFit) {
		seen.Hosts.Missing = "a node is pinned to another host, on which it cannot be installed, so no node is removed: " + noFit.Error() +
			". What to do: correct the mac-address of the node, or make its host usable"
		return nil
	}
	if err != nil {
		return fmt.Errorf("assign hosts: %w", err)
	}
	return r.observeKey(ctx, p, seen)
}

// addMACs adds the MAC addresses that only the HardwareData of a host has, which observeSite does not
// read.
func addMACs(seen *plan.Seen, all []hosts.Host) {
	for _, h := range all {
		if known, ok := seen.Site[h.Name]; ok && known.UID == h.UID {
			known.MACs = h.MACs
			seen.Site[h.Name] = known
		}
	}
}
