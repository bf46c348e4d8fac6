package software

import (
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// run does what the task does: it looks at all nodes and processes those of the run.
func (r *world) run(run *contract.SoftwareRun) {
	var nodes []contract.SoftwareNode
	for _, n := range r.nodes {
		of := r.record.Of(n)
		of.Packages = slices.Clone(of.Packages)
		of.Tried = r.now
		of.Message = ""
		switch {
		case n.Standby:
			continue
		case r.dead[n.Name] || r.silent[n.Name]:
			of.Message = "no route to host"
			r.postpone(n, &of, run)
		default:
			of.Checked = r.now
			r.look(&of)
			if !run.CheckOnly && slices.Contains(run.Nodes, n.Name) {
				r.process(n, &of, run)
			}
		}
		nodes = append(nodes, of)
	}
	r.record.Nodes = nodes
	if run.Asked != "" {
		r.record.Asked = run.Asked
	}
}

// postpone makes the rows Pending that the run cannot process.
func (r *world) postpone(n contract.Node, of *contract.SoftwareNode, run *contract.SoftwareRun) {
	for _, s := range run.Packages {
		if row := rowOf(*of, s.Name); s.On(n.Roles) && s.Problem == "" && row.Intent != contract.SoftwareIntent(s) {
			row.State = contract.SoftwarePending
			put(of, row)
		}
	}
}

// look finds that somebody has changed a package.
func (r *world) look(of *contract.SoftwareNode) {
	for i, row := range of.Packages {
		if row.State == contract.SoftwareInstalled && !r.quiet && r.maybe(5) {
			of.Packages[i].State, of.Packages[i].Installed = contract.SoftwareDrifted, []string{"", "0.1"}[r.IntN(2)]
		}
	}
}

// process installs, updates and removes; each action can fail.
func (r *world) process(n contract.Node, of *contract.SoftwareNode, run *contract.SoftwareRun) {
	wanted := map[string]bool{}
	for _, s := range run.Packages {
		wanted[s.Name] = wanted[s.Name] || s.On(n.Roles)
		row := rowOf(*of, s.Name)
		done := row.Intent == contract.SoftwareIntent(s) && !unfinished(row.State)
		if !s.On(n.Roles) || s.Problem != "" || done && run.Asked == "" {
			continue
		}
		row.Intent, row.Wanted = contract.SoftwareIntent(s), s.Version
		switch {
		case s.Hold && row.Installed != "" && row.Installed != s.Version && !run.Update:
			row.State = contract.SoftwareOutdated
		case r.maybe(20):
			row.State = contract.SoftwareFailed
		default:
			row.State, row.Installed, row.Ours = contract.SoftwareInstalled, s.Version, true
			if s.Version == "" {
				row.Installed = "0.9"
			}
		}
		put(of, row)
	}
	stays := func(name string) bool { return wanted[name] || contract.SoftwareStays(run.Packages, name) != nil }
	of.Packages = slices.DeleteFunc(of.Packages, func(row contract.SoftwarePackage) bool {
		return !stays(row.Name) && (!row.Ours || !r.maybe(20))
	})
	for i, row := range of.Packages {
		if !stays(row.Name) {
			of.Packages[i].State, of.Packages[i].Intent = contract.SoftwareFailed, contract.SoftwareRemoval
		}
	}
}

func put(of *contract.SoftwareNode, row contract.SoftwarePackage) {
	of.Packages = slices.DeleteFunc(of.Packages, func(p contract.SoftwarePackage) bool { return p.Name == row.Name })
	of.Packages = append(of.Packages, row)
}
