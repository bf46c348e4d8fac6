package software

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Work is the work of one run on the software of nodes.
type Work struct {
	Rules    Rules
	Machines *Machines
	Record   *Record
	// Changes reports that the run may change a node.
	Changes func(contract.Node) bool

	plans map[string][]Decision // by the names of the nodes that have answered
	seen  map[string]Seen
}

// Look reads what all nodes have, decides what to do, and stores both. It changes no node.
func (w *Work) Look(ctx context.Context, nodes []contract.Node) error {
	requests := map[string]request{}
	for _, n := range nodes {
		requests[n.Name] = request{Packages: w.questions(n)}
	}
	seen, troubles, err := w.Machines.ask(ctx, playLook, requests, nodes)
	if err != nil {
		return err
	}
	w.plans, w.seen = map[string][]Decision{}, seen
	for _, n := range nodes {
		s, ok := seen[n.Name]
		if !ok {
			w.unread(n, troubles[n.Name])
			continue
		}
		w.plans[n.Name] = Decide(w.Rules, Node{Name: n.Name, Roles: n.Roles, Changes: w.Changes(n), Seen: s, Rows: w.Record.of(n).Packages})
		w.store(n, "", w.waiting(n))
		w.log(n)
	}
	return w.Record.Write(ctx)
}

// waiting returns the decisions about a node, with rows that say that no action has begun.
func (w *Work) waiting(n contract.Node) []Decision {
	before, plan := w.Record.of(n).Packages, slices.Clone(w.plans[n.Name])
	for i, d := range plan {
		if d.Action != nil {
			plan[i].Row.State, plan[i].Row.Message = contract.SoftwarePending, "it waits for its turn"
			old := rowOf(before, d.Row.Name)
			plan[i].Row.Ours, plan[i].Row.Format = old.Ours, old.Format
		}
	}
	return plan
}

// questions returns all packages that are wanted on a node or recorded. A name that is none is left out.
func (w *Work) questions(n contract.Node) []question {
	all := []question{} // not null, for a node without packages
	byName := map[string]question{}
	for _, row := range w.Record.of(n).Packages {
		byName[row.Name] = question{Name: row.Name}
	}
	for _, p := range w.Rules.Run.Packages {
		if p.On(n.Roles) {
			q := question{Name: p.Name, Sources: len(p.Files) == 0 && p.Problem == ""}
			if packageVersion.MatchString(p.Version) {
				q.Version = p.Version
			}
			for _, version := range slices.Compact(slices.Sorted(maps.Values(p.Versions))) {
				if packageVersion.MatchString(version) {
					q.Versions = append(q.Versions, version)
				}
			}
			byName[p.Name] = q
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		if packageName.MatchString(name) {
			all = append(all, byName[name])
		}
	}
	return all
}

// unread records a node that has not answered. Packages that the run does not have to change keep their
// rows.
func (w *Work) unread(n contract.Node, t trouble) {
	next := w.Record.of(n)
	next.Message = w.why(t)
	fmt.Fprintf(w.Machines.Log, "  %s: %s\n", n.Name, next.Message)
	var rows []contract.SoftwarePackage
	for _, p := range w.Rules.Run.Packages {
		if !p.On(n.Roles) || p.Problem != "" {
			continue
		}
		row := rowOf(next.Packages, p.Name)
		if row.Intent == "" || row.Intent != contract.SoftwareIntent(p) {
			row.Wanted, row.State, row.Message = p.For(next.Architecture).Version, contract.SoftwarePending, "the node could not be read"
			if !t.later && w.Changes(n) {
				row.State, row.Message, row.Intent = contract.SoftwareFailed, next.Message, contract.SoftwareIntent(p)
			}
		}
		rows = append(rows, row)
	}
	for _, row := range next.Packages {
		if !slices.ContainsFunc(rows, func(r contract.SoftwarePackage) bool { return r.Name == row.Name }) {
			rows = append(rows, row)
		}
	}
	next.Packages, next.Tried = rows, w.Record.time()
	w.Record.set(n, next)
}

func (w *Work) why(t trouble) string {
	if t.later {
		return t.message + ". BPA tries again when the node is Ready, at most every 10 minutes"
	}
	return cmp.Or(t.message, "it has not answered")
}

// store puts decisions into the record. The caller writes it.
func (w *Work) store(n contract.Node, message string, plan []Decision) {
	now := w.Record.time()
	next := contract.SoftwareNode{Node: n.Name, Host: n.HostUID, Checked: now, Tried: now, Message: message, Reboot: w.Record.of(n).Reboot,
		Architecture: cmp.Or(w.seen[n.Name].Architecture, w.Record.of(n).Architecture)}
	for _, d := range plan {
		if !d.Drop {
			next.Packages = append(next.Packages, d.Row)
		}
	}
	w.Record.set(n, next)
}

// log writes what is to be done on a node, and what is wrong.
func (w *Work) log(n contract.Node) {
	for _, d := range w.plans[n.Name] {
		switch {
		case d.Action != nil:
			fmt.Fprintf(w.Machines.Log, "  %s: %s %s\n", n.Name, d.Action.Do, strings.TrimSpace(d.Action.Name+" "+d.Action.Version))
		case d.Row.Message != "" && !d.Drop:
			fmt.Fprintf(w.Machines.Log, "  %s: %s %s: %s\n", n.Name, d.Row.Name, d.Row.State, d.Row.Message)
		}
	}
	for _, note := range w.seen[n.Name].Notes {
		fmt.Fprintf(w.Machines.Log, "  %s: %s\n", n.Name, shorten(note))
	}
}

// owe records whether a node must boot again. The caller writes the record.
func (w *Work) owe(n contract.Node, reboot bool) {
	next := w.Record.of(n)
	next.Node, next.Host, next.Reboot = n.Name, n.HostUID, reboot
	w.Record.set(n, next)
}

// reboots reports whether one of the changes of a node needs a reboot.
func (w *Work) reboots(n contract.Node) bool {
	return slices.ContainsFunc(w.plans[n.Name], func(d Decision) bool { return d.Action != nil && d.Disruption == contract.DisruptionReboot })
}

// Disruption returns the strongest disruption of the changes of a node; empty: it has no changes. A node that
// an earlier run has changed and not rebooted must still boot again.
func (w *Work) Disruption(n contract.Node) contract.Disruption {
	if _, answered := w.plans[n.Name]; answered && w.Changes(n) && w.Record.of(n).Reboot {
		return contract.DisruptionReboot
	}
	rank := []contract.Disruption{"", contract.DisruptionNone, contract.DisruptionDrain, contract.DisruptionReboot}
	most := 0
	for _, d := range w.plans[n.Name] {
		if d.Action != nil {
			most = max(most, 1, slices.Index(rank, d.Disruption))
		}
	}
	return rank[most]
}

// Apply changes nodes, and stores the results. It returns the names of the nodes that must boot again, because
// this run or an earlier one has changed a package with DisruptionReboot. A package or a node that fails is in
// the record.
func (w *Work) Apply(ctx context.Context, nodes []contract.Node) (reboot []string, err error) {
	requests, owed := map[string]request{}, map[string]bool{}
	for _, n := range nodes {
		owed[n.Name] = w.Record.of(n).Reboot
		r := request{Packages: w.questions(n)}
		for _, d := range w.plans[n.Name] {
			if d.Action != nil {
				r.Actions = append(r.Actions, *d.Action)
			}
		}
		requests[n.Name] = r
		w.store(n, "", w.plans[n.Name]) // before the change: later runs must know what a killed one has installed
		w.owe(n, owed[n.Name] || w.reboots(n))
	}
	if err := w.Record.Write(ctx); err != nil {
		return nil, err
	}
	seen, troubles, err := w.Machines.ask(ctx, playApply, requests, nodes)
	if err != nil {
		return nil, err
	}
	for _, n := range nodes {
		s, ok := seen[n.Name]
		if !ok {
			w.interrupted(n, troubles[n.Name])
			continue
		}
		for i, d := range w.plans[n.Name] {
			if d.Action == nil {
				continue
			}
			w.plans[n.Name][i] = d.result(s)
			if d.Disruption == contract.DisruptionReboot && s.Errors[d.Action.Name] == "" {
				owed[n.Name] = true
			}
			if problem := s.Errors[d.Action.Name]; problem != "" {
				fmt.Fprintf(w.Machines.Log, "  %s: %s failed: %s\n", n.Name, d.Action.Name, shorten(problem))
			}
		}
		w.store(n, "", w.plans[n.Name])
		w.owe(n, owed[n.Name])
		if owed[n.Name] {
			reboot = append(reboot, n.Name)
		}
	}
	return reboot, w.Record.Write(ctx)
}

// result returns the decision after its action.
func (d Decision) result(s Seen) Decision {
	seen, problem := s.Packages[d.Action.Name], s.Errors[d.Action.Name]
	has := seen.Native
	if d.Action.Tar || d.Action.File != nil && d.Action.File.Format == formatTar {
		has = tarVersion(seen)
	}
	d.Row.Installed, d.Row.Intent = has, d.intent
	switch {
	case problem != "":
		d.Row.State, d.Row.Message = contract.SoftwareFailed, shorten(problem)
		if d.Row.Ours = d.Row.Ours && has != ""; !d.Row.Ours {
			d.Row.Format = ""
		}
		if d.Action.ReplacesTar && seen.Tar != nil && !d.Row.Ours {
			d.Row.Ours, d.Row.Format = true, formatTar // only BPA installs tar packages
		}
		if slices.Contains(s.Later, d.Action.Name) {
			d = d.later("BPA tries again: " + problem)
		}
	case d.Action.Do == "remove":
		d.Drop = has == ""
		d.Row.State, d.Row.Message = contract.SoftwareFailed, "it is still there after its removal"
	case has == "" || d.Action.Version != "" && has != d.Action.Version || seen.Broken:
		d.Row.State = contract.SoftwareFailed
		d.Row.Message = fmt.Sprintf("its installation succeeded, but the node has %s", cmp.Or(has, "no version of it"))
	default:
		d.Row.State, d.Row.Message = contract.SoftwareInstalled, ""
	}
	d.Action = nil
	return d
}

// interrupted records a node that has not answered after its changes were begun.
func (w *Work) interrupted(n contract.Node, t trouble) { w.undone(n, w.why(t), t.later) }

func (w *Work) undone(n contract.Node, message string, later bool) {
	fmt.Fprintf(w.Machines.Log, "  %s: %s\n", n.Name, message)
	for i, d := range w.plans[n.Name] {
		if d.Action == nil {
			continue
		}
		d.Row.State, d.Row.Message, d.Row.Intent = contract.SoftwarePending, message, ""
		if !later {
			d.Row.State, d.Row.Intent = contract.SoftwareFailed, d.intent
		}
		d.Action = nil
		w.plans[n.Name][i] = d
	}
	w.store(n, message, w.plans[n.Name])
}

// Refuse records that the changes of a node were not begun. If it is later, a run tries them again by itself.
func (w *Work) Refuse(ctx context.Context, n contract.Node, why string, later bool) error {
	w.undone(n, shorten(why), later)
	return w.Record.Write(ctx)
}

// Reboot lets nodes boot again. It returns the errors of those that have not, by name.
func (w *Work) Reboot(ctx context.Context, nodes []contract.Node) (map[string]string, error) {
	troubles, err := w.Machines.reboot(ctx, nodes)
	failed := map[string]string{}
	for name, t := range troubles {
		failed[name] = t.message
	}
	if err != nil {
		return failed, err
	}
	for _, n := range nodes {
		if _, bad := failed[n.Name]; !bad {
			w.owe(n, false)
		}
	}
	return failed, w.Record.Write(ctx)
}
