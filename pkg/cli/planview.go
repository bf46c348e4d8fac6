package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/change"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/assign"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/observe"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
)

// planView is the output of "kubectl bpa plan".
type planView struct {
	Provisioning string `json:"provisioning"`
	// Installed reports that a cluster is installed. Otherwise the only operation installs it.
	Installed  bool          `json:"installed"`
	Operations []plannedStep `json:"operations,omitempty"`
	// Lost are the installed nodes whose hosts are lost and that no operation replaces or removes, as
	// "node on host". AddsWait reports that no node is added because of them.
	Lost     []string `json:"lost,omitempty"`
	AddsWait bool     `json:"addsWait,omitempty"`
	// Upgrade describes the upgrade of the nodes; nil: none is requested.
	Upgrade *plannedUpgrade `json:"upgrade,omitempty"`
	// SecretVars are the names of the variables that have other values in Secrets than the installed cluster.
	SecretVars []string `json:"secretVars,omitempty"`
	// NodeVars are the variables of single nodes and node sets that the upgrade changes, as fields of the spec.
	NodeVars []string `json:"nodeVars,omitempty"`
	// NotApplied are the parts of the spec that are not applied to the installed cluster.
	NotApplied []string `json:"notApplied,omitempty"`
	// NoFit explains why there is no host for a new node.
	NoFit string `json:"noFit,omitempty"`
	// Active is the name of a run that is active. The operations start after it.
	Active string `json:"active,omitempty"`
	// Plugins are the plugins of the cluster after the operations, and why some of them are skipped.
	Plugins []plannedPlugin `json:"plugins,omitempty"`
	// Artifacts is the newest result of the check of the depot.
	Artifacts string `json:"artifacts,omitempty"`
	// Endpoint is the address of the load balancer in front of the API servers, or the one that moves between the control
	// planes, as Moves says; empty: there is none.
	Endpoint string `json:"endpoint,omitempty"`
	Moves    bool   `json:"moves,omitempty"`
	Note     string `json:"note,omitempty"`
}

// plannedStep is one operation.
type plannedStep struct {
	Operation string `json:"operation"`
	What      string `json:"what"`
	// Hosts has the hosts of new nodes, as "node: host".
	Hosts []string `json:"hosts,omitempty"`
	// Leave has the nodes that leave, in the order in which they leave. For a node set these are
	// candidates, with the number of those that leave.
	Leave []string `json:"leave,omitempty"`
	// Upgrade has the names of the nodes that are upgraded at the same time.
	Upgrade []string `json:"upgrade,omitempty"`
	// Drain limits the time in which the pods of one node must have left it.
	Drain string `json:"drain,omitempty"`
}

// plan compares the spec of p with the installed cluster, as the controller does.
func (s *site) plan(ctx context.Context, p *v1alpha1.Provisioning) (*planView, error) {
	seen, all, err := s.seen(ctx, p)
	if err != nil {
		return nil, err
	}
	view := &planView{Provisioning: p.Name, Installed: seen.Complete()}
	if c := p.Status.GetCondition(v1alpha1.ConditionArtifactsAvailable); c != nil && !c.IsUnknown() {
		view.Artifacts = explanation(p, c)
	}
	if run := p.Status.Run; run != nil && run.CompletionTime == nil {
		view.Active = run.Name
	}
	api := seen.Request.API
	if seen.Memory != nil { // the spec can request another one, which is not applied
		api = seen.Memory.Request.API
	}
	view.Endpoint, view.Moves = api.URL(), api.Moves()
	view.add(&seen, p, all)
	view.addPlugins(seen)
	view.addSecretVars(seen)
	return view, nil
}

// seen reads the state of p as the controller sees it, and all hosts of the namespace.
func (s *site) seen(ctx context.Context, p *v1alpha1.Provisioning) (plan.Seen, []hosts.Host, error) {
	parsed, err := s.settings(ctx)
	if err != nil {
		return plan.Seen{}, nil, err
	}
	p = p.DeepCopy()
	p.SetDefaults(ctx)
	all, err := s.in(p.HostNamespace()).hosts(ctx)
	if err != nil {
		return plan.Seen{}, nil, err
	}
	given := observe.Given{Settings: parsed}
	if given.SecretVars, given.Vars, err = s.secretVars(ctx, p); err != nil {
		return plan.Seen{}, nil, err
	}
	reader := observe.Client{Client: s.client, Context: ctx, Provisioning: p, Hosts: all.facts}
	seen, err := observe.Facts(ctx, p, given, reader)
	if err != nil {
		return seen, nil, s.explain(err)
	}
	if seen.Invalid != "" && seen.Request.Provisioning == "" { // there is no request to compare the cluster with
		return seen, nil, errors.New(seen.Invalid)
	}
	confirm(p, &seen, all.facts)
	if err := observe.Pins(p, reader, &seen); err != nil {
		return seen, nil, s.explain(err)
	}
	return seen, all.facts, s.source(ctx, p, &seen)
}

// confirm adds all hosts as the API server itself has just described them. A host that is not there is lost for certain,
// as the controller sees it when it decides.
func confirm(p *v1alpha1.Provisioning, seen *plan.Seen, all []hosts.Host) {
	for _, h := range all {
		seen.Site[h.Name] = observe.HostOf(p, h)
	}
	for name, h := range seen.Site {
		h.Live = true
		seen.Site[name] = h
	}
}

func ownerOf(p *v1alpha1.Provisioning) hosts.Owner { return observe.OwnerOf(p) }

// add adds the operations to the view, with hosts for new nodes. After an operation that frees hosts,
// the hosts of later operations are not known.
func (v *planView) add(seen *plan.Seen, p *v1alpha1.Provisioning, all []hosts.Host) {
	if !v.Installed {
		step := plannedStep{Operation: contract.OperationInstall, What: contract.OperationOf(contract.OperationInstall).Purpose}
		var found assign.Assignment
		found, step.Hosts, v.NoFit = assigned(seen.Request, nil, all)
		seen.Qualify(&p.Spec, plan.AssignedTo(found, all))
		v.Operations = []plannedStep{step}
		return
	}
	if seen.Memory == nil {
		v.Note = "it is not known which nodes are installed, so no operation adds or removes nodes; `kubectl bpa status " + v.Provisioning + "` shows what to do"
		return
	}
	state := seen.State()
	if why := seen.RestoreProblem(); why != "" {
		v.Note = "no operation starts, because the requested restore does not: " + why
		v.lose(state, state)
		return
	}
	for _, r := range change.Refused(state) {
		if v.NotApplied = append(v.NotApplied, r.Text); r.Blocks && state.Restore == nil { // the controller starts nothing before the spec is restored
			v.Note = "no operation starts before these parts of the spec are restored"
		}
	}
	if v.Note != "" {
		v.lose(state, state)
		return
	}
	steps, after := change.Preview(state)
	v.addSteps(steps, *seen, all)
	v.addPluginChange(seen.PluginChange())
	v.addUpgrade(state, after, steps)
	v.NodeVars = change.NodeVars(state)
	v.lose(state, after)
	v.NotApplied = nil
	for _, r := range change.Refused(after) { // with the nodes that cannot leave or move
		text := r.Text
		if r.Advice != "" {
			text += ". What to do: " + r.Advice
		}
		v.NotApplied = append(v.NotApplied, text)
	}
}

// addSteps adds the operations, with the hosts of new nodes as long as no operation has freed hosts.
func (v *planView) addSteps(steps []change.Step, seen plan.Seen, all []hosts.Host) {
	freed := false
	for _, next := range steps {
		step := plannedStep{Operation: next.Operation, What: next.String()}
		if u := next.Request.Upgrade; u != nil {
			if step.Upgrade = u.Nodes; u.Narrow == nil {
				step.Drain = (time.Duration(u.DrainSeconds) * time.Second).String()
			}
		} else if remove := next.Request.Remove; remove != nil {
			step.leaving(*remove)
			freed = true
		} else if !freed {
			next.Request.Installed = seen.InstalledHosts()
			var none string
			_, step.Hosts, none = assigned(next.Request, &seen, all)
			v.NoFit = cmp.Or(v.NoFit, none)
		}
		v.Operations = append(v.Operations, step)
	}
}

// lose adds the nodes that are still lost after all operations, and what that means.
func (v *planView) lose(now, after change.State) {
	for _, n := range now.Installed.Nodes {
		if _, lost := after.Lost[n.Name]; lost {
			v.Lost = append(v.Lost, n.Name+" on "+n.Host)
		}
	}
	v.AddsWait = len(change.Waiting(after)) > 0
	lost := func(n contract.Node) bool { _, lost := now.Lost[n.Name]; return lost }
	if now.Restore == nil && v.Note == "" && !change.Quorum(now.Installed.Nodes, lost) {
		v.Note = "etcd has lost its majority, so no operation starts before enough of its hosts are restored; `kubectl bpa status " + v.Provisioning + "` shows how"
	}
}

func (s *plannedStep) leaving(remove contract.Removal) {
	s.Leave = slices.Clone(remove.Nodes)
	for _, set := range remove.Sets {
		var names []string
		for _, c := range set.Candidates {
			names = append(names, c.Node)
		}
		s.Leave = append(s.Leave, fmt.Sprintf("%d of %s", set.Count, strings.Join(names, ", ")))
	}
	if len(s.Leave) > 0 {
		s.Drain = (time.Duration(remove.DrainSeconds) * time.Second).String()
	}
}

// assigned returns the hosts of the nodes that are not installed, as "node: host", or why there are
// none.
func assigned(request contract.Request, seen *plan.Seen, all []hosts.Host) (found assign.Assignment, chosen []string, noFit string) {
	all = slices.Clone(all)
	hosts.MarkInstalled(request, all)
	found, err := assign.Assign(request, all)
	var none *assign.NoFit
	switch {
	case errors.As(err, &none):
		return nil, nil, none.Error()
	case err != nil:
		return nil, nil, err.Error()
	}
	for _, a := range found {
		installed := seen != nil && slices.ContainsFunc(seen.Memory.Nodes, func(n contract.Node) bool { return n.Name == a.Node && n.Host == a.Host })
		if !installed {
			chosen = append(chosen, a.Node+": "+a.Host)
		}
	}
	return found, chosen, ""
}
