package observe

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/contract/from"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/imaging"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
	"github.com/akraino-icn/bpa/pkg/settings"
	"github.com/akraino-icn/bpa/pkg/ssh"
)

// Reader reads the objects of a Provisioning.
type Reader interface {
	// Work puts the runs with the label of the cluster into seen (SortOut). During a deletion, it adds what else may
	// work on the hosts.
	Work(seen *plan.Seen) error
	// ConfigMap returns a ConfigMap that the Provisioning owns; nil: there is none.
	ConfigMap(name string) (*corev1.ConfigMap, error)
	// Record returns the ConfigMap with the record of the cluster; nil: there is none. During a deletion it must not be
	// stale: a stale one could show a host as unused that a cancelled run has just changed.
	Record() (*corev1.ConfigMap, error)
	// RequestOf returns the ConfigMap with the request of a run; nil: there is none, or no run.
	RequestOf(run *plan.Run) (*corev1.ConfigMap, error)
	// Held returns the hosts that the Provisioning holds, and Named those with these names that exist.
	Held() ([]hosts.Host, error)
	Named(names []string) ([]hosts.Host, error)
	// Parse returns what read makes of the text in a field of an object. The result is of this type, and readers must
	// not change it, because the next visit may get it too.
	Parse(object, field string, as reflect.Type, text string, read func(text string) any) any
}

// Given is what the facts need beside the objects of the Provisioning.
type Given struct {
	Settings settings.Settings
	// Invalid explains why the settings cannot be used; empty: they can.
	Invalid string
	// SecretVars are the digests of the variables in Secrets, and Vars is why they cannot be used; empty: they can.
	SecretVars map[string]string
	Vars       string
}

// Facts returns what the objects of a Provisioning say. p has its defaults.
func Facts(ctx context.Context, p *v1alpha1.Provisioning, given Given, read Reader) (plan.Seen, error) {
	o := observer{ctx: ctx, p: p, given: given, read: read, seen: Written(p, given)}
	if err := o.spec(); err != nil {
		o.seen.Invalid = err.Error()
	}
	for _, one := range []func() error{func() error { return read.Work(&o.seen) }, o.plugins, o.started, o.removal, o.records, o.site, o.software} {
		if err := one(); err != nil {
			return o.seen, err
		}
	}
	return o.seen, nil
}

type observer struct {
	ctx   context.Context
	p     *v1alpha1.Provisioning
	given Given
	read  Reader
	seen  plan.Seen
}

// Written returns what the Provisioning itself says, and the limits of the site.
func Written(p *v1alpha1.Provisioning, given Given) plan.Seen {
	site := given.Settings
	return plan.Seen{
		Namespace:       p.Namespace,
		Name:            p.Name,
		Generation:      p.Generation,
		Deleting:        p.DeletionTimestamp != nil,
		Foreground:      slices.Contains(p.Finalizers, metav1.FinalizerDeleteDependents),
		Paused:          p.Spec.Paused,
		Retain:          p.Spec.DeletionPolicy == v1alpha1.DeletionRetain,
		Retry:           p.Annotations[contract.AnnotationRetry],
		Restore:         p.Annotations[contract.AnnotationRestore],
		Restored:        p.Status.Restore,
		InstalledDigest: p.Status.InstalledDigest,
		ObservedRetry:   p.Status.ObservedRetry,
		Numbered:        numbered(p),
		PassedOver:      p.Status.PassedOver,
		Replace:         p.Spec.ReplacePolicy,
		Limits: plan.Limits{Attempts: site.MaxAttempts, History: site.RunHistory, HistoryAge: site.RunHistoryAge, Runs: site.MaxRuns,
			Drain: p.Spec.Timeouts.DrainTimeout(), UpgradeDrain: p.Spec.DrainTimeout(), Run: p.Spec.Timeouts.InstallTimeout()},
		NodeLabels: site.NodeLabels.Rules(),
		Upgrade:    p.Spec.Upgrade,
		Settings:   given.Invalid,
		Depot:      from.DepotProblem(p, site.Depot),
		Vars:       given.Vars,
	}
}

// numbered returns the largest number of the runs in the status; 0: there is none.
func numbered(p *v1alpha1.Provisioning) (n int32) {
	if run := p.Status.Run; run != nil {
		n = resources.RunNumber(run.Name)
	}
	if packages := p.Status.Software; packages != nil {
		n = max(n, resources.RunNumber(packages.Run))
	}
	return n
}

// spec builds the request of the spec. All decisions and actions use this request.
func (o *observer) spec() error {
	request, err := from.Provisioning(o.p, o.given.Settings.Depot)
	if err != nil {
		return err
	}
	seen := &o.seen
	request.SecretVars = o.given.SecretVars
	seen.Request = request
	for _, s := range request.Slots {
		seen.Slots = append(seen.Slots, s.Name)
	}
	seen.Sets = request.Sets
	if !hasControlPlane(request) {
		return errors.New("the spec has no control plane node: add a node to spec.masters, or a node set with role control-plane")
	}
	if seen.Digest, err = from.Digest(request); err != nil {
		return err
	}
	seen.Inputs, err = from.Inputs(o.p, request)
	return err
}

func hasControlPlane(r contract.Request) bool {
	return slices.ContainsFunc(r.Slots, func(s contract.Slot) bool { return slices.Contains(s.Roles, contract.RoleControlPlane) }) ||
		slices.ContainsFunc(r.Sets, func(s contract.Set) bool { return s.Active > 0 && slices.Contains(s.Roles, contract.RoleControlPlane) })
}

// plugins reads what the task install-plugins has stored, and whether the requested plugins can be
// installed.
func (o *observer) plugins() error {
	o.seen.Plugins = plan.Plugins{Problem: from.PluginProblem(o.p)}
	return readJSON(o.read, contract.PluginsName(o.p.Name), contract.KeyPlugins, &o.seen.Plugins.Record)
}

// removal reads what the last run that is not only for a kubeconfig or for plugins was to remove.
func (o *observer) removal() error {
	cm, err := o.read.RequestOf(o.seen.LastChange())
	if err == nil && cm != nil {
		o.seen.Removal = Request(o.read, cm).Remove
	}
	return err
}

// records reads the progress of the task kubespray, what it records, and whether it has reached a host.
func (o *observer) records() error {
	name := contract.ProgressName(o.p.Name)
	progress, err := o.read.ConfigMap(name)
	if err != nil {
		return err
	}
	if progress != nil {
		o.seen.Ends = progress.Data[contract.KeyEnds]
		intoJSON(o.read, name, contract.KeyProgress, progress.Data[contract.KeyProgress], &o.seen.Progress)
	}
	known, err := o.read.ConfigMap(contract.KnownHostsName(o.p.Name))
	if err != nil {
		return err
	}
	o.seen.Touched = known != nil && len(known.Data) > 0
	cm, err := o.read.Record()
	if err == nil && cm != nil {
		States(o.read, cm, &o.seen)
	}
	return err
}

// site reads the hosts that the Provisioning holds and the hosts of its nodes.
func (o *observer) site() error {
	seen := &o.seen
	held, err := o.read.Held()
	if err != nil {
		return err
	}
	seen.Site = map[string]plan.Host{}
	for _, h := range held {
		seen.Site[h.Name] = HostOf(o.p, h)
		if imaging.FailedHere(h) && h.Imaged { // without its image, it is in the status already
			seen.Failed = append(seen.Failed, plan.FailedHost{Name: h.Name, Message: cmp.Or(h.Retrying, h.Trouble)})
		}
	}
	seen.Rebuilt = seen.Memory == nil
	claimed := plan.ClaimedNodes(held, seen.Request.Access)
	seen.Remember(claimed)
	seen.Relist(claimed)
	if seen.Complete() {
		seen.Qualify(&o.p.Spec, seen.InstalledOn(held))
	}
	var others []string
	nodes := seen.Nodes
	if seen.Memory != nil {
		nodes = slices.Concat(nodes, seen.Memory.Nodes)
	}
	for _, n := range nodes {
		if _, known := seen.Site[n.Host]; !known {
			others = append(others, n.Host)
		}
	}
	if len(others) == 0 {
		return nil
	}
	found, err := o.read.Named(others)
	if err != nil {
		return err
	}
	AddHosts(o.p, seen, others, found, false)
	return nil
}

// AddHosts adds the hosts with these names, of which found exist. live means that they were read from the API server
// itself.
func AddHosts(p *v1alpha1.Provisioning, seen *plan.Seen, names []string, found []hosts.Host, live bool) {
	for _, name := range names {
		seen.Site[name] = plan.Host{Gone: true, Live: live}
	}
	for _, h := range found {
		host := HostOf(p, h)
		host.Live = live
		seen.Site[h.Name] = host
	}
}

// OwnerOf returns the owner of the hosts of a Provisioning.
func OwnerOf(p *v1alpha1.Provisioning) hosts.Owner {
	return hosts.OwnerIn(p.HostNamespace(), p.Namespace, p.Name)
}

// HostOf converts a host into the facts that package plan needs.
func HostOf(p *v1alpha1.Provisioning, h hosts.Host) plan.Host {
	return plan.HostOf(OwnerOf(p), p.ClusterUID(), h)
}

// Pins finds out which members have no pinned SSH host key, if a user requests another run: the run is
// then to pin them. A text that cannot be parsed is left to the tasks, which report it.
func Pins(p *v1alpha1.Provisioning, read Reader, seen *plan.Seen) error {
	if !seen.Retries() {
		return nil
	}
	known, err := read.ConfigMap(contract.KnownHostsName(p.Name))
	if err != nil || known == nil {
		return err
	}
	pins, err := ssh.ParsePins(known.Data[contract.KeyKnownHosts])
	if err != nil {
		return nil
	}
	for _, n := range seen.Present() {
		if n.HostUID != "" && pins.Of(n.HostUID) == nil {
			seen.Unpinned = append(seen.Unpinned, n.Name)
		}
	}
	return nil
}

// software reads what the tasks have stored about the packages of the nodes. What the Softwares request is not in it.
func (o *observer) software() error {
	if o.seen.Deleting {
		return nil
	}
	s := &o.seen.Software
	s.Asked = o.p.Annotations[contract.AnnotationSoftware]
	if o.p.Status.Software != nil {
		s.Answered = o.p.Status.Software.Asked
	}
	stored, err := o.read.ConfigMap(contract.SoftwareName(o.p.Name))
	if err != nil {
		return err
	}
	if stored != nil {
		s.Record = SoftwareRecord(o.read, stored)
		s.Ends = stored.Data[contract.KeyEnds]
	}
	started, err := o.read.RequestOf(s.Newest())
	if err == nil && started != nil {
		s.Started = Request(o.read, started).Software
	}
	return err
}
