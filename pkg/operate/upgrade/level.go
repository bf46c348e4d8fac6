package upgrade

import (
	"context"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// lacks is Installed.Lacks for a node of the record. A node that is not in it lacks everything.
func (u *upgrader) lacks(name string) (level, patch bool) {
	i := slices.IndexFunc(u.members.Now.Nodes, func(n contract.Node) bool { return n.Name == name })
	if i < 0 {
		return true, true
	}
	return u.members.Now.Lacks(u.members.Now.Nodes[i], u.in.Request)
}

// atLevel reports whether a node of the record has the version and the variables of the request, so
// that no playbook runs on it.
func (u *upgrader) atLevel(name string) bool {
	level, _ := u.lacks(name)
	return !level
}

// atPatch reports whether a node of the record has the requested patch level, or none is requested.
func (u *upgrader) atPatch(name string) bool {
	_, patch := u.lacks(name)
	return !patch
}

// upgraded reports whether nothing is left to do on a node.
func (u *upgrader) upgraded(name string) bool { return u.atLevel(name) && u.atPatch(name) }

// onlyPatches reports whether the run only patches nodes, without a playbook.
func (u *upgrader) onlyPatches() bool {
	r := u.in.Request
	if len(u.batch) == 0 {
		return r.Upgrade.Patch != "" && r.Upgrade.From == r.KubernetesVersion
	}
	return len(u.behind) == 0
}

// onlyConfigures reports whether every node of the cluster has the version of the request already, so that
// the playbook only gives nodes other variables.
func (u *upgrader) onlyConfigures() bool {
	return u.in.Request.Upgrade.From == u.in.Request.KubernetesVersion
}

// work is what the run does, in messages: "upgrade to 1.35.4".
func (u *upgrader) work() string {
	text := "upgrade to " + u.in.Request.KubernetesVersion
	if u.onlyConfigures() {
		text = "change of settings"
	}
	switch {
	case u.onlyPatches():
		return "patch"
	case len(u.unpatched) > 0:
		return text + " with a patch"
	}
	return text
}

// done is what the run has done with its nodes, in messages: "upgraded to 1.35.4".
func (u *upgrader) done() string {
	text := u.verb()
	if u.onlyPatches() {
		return text
	}
	if !u.onlyConfigures() {
		text += " to " + u.in.Request.KubernetesVersion
	}
	if len(u.unpatched) > 0 {
		text += " and patched"
	}
	return text
}

// verb is "upgraded", "configured" or "patched".
func (u *upgrader) verb() string {
	switch {
	case u.onlyPatches():
		return "patched"
	case u.onlyConfigures():
		return "configured"
	}
	return "upgraded"
}

// last is the last change of the nodes, in messages.
func (u *upgrader) last() string {
	if len(u.unpatched) > 0 {
		return "patch"
	}
	return "playbook"
}

// begin records that a run begins to change these nodes: until they work again, they are half changed.
func (u *upgrader) begin(ctx context.Context, nodes []contract.Node, begun func(contract.Node, *contract.Target)) error {
	return u.members.Change(ctx, func(next *contract.Installed) {
		for i, n := range next.Nodes {
			if !session.HasName(nodes, n.Name) {
				continue
			}
			target := contract.Target{}
			if n.Target != nil {
				target = *n.Target
			}
			begun(n, &target)
			next.Nodes[i].Target = &target
		}
	})
}

// mark records nodes as upgraded and patched.
func (u *upgrader) mark(ctx context.Context, names []string) error {
	return u.members.Change(ctx, func(next *contract.Installed) {
		for i, n := range next.Nodes {
			if !slices.Contains(names, n.Name) {
				continue
			}
			if !u.atLevel(n.Name) {
				next.Nodes[i].Version, next.Nodes[i].Settings = u.in.Request.KubernetesVersion, u.in.Request.SettingsOf(n)
			}
			if !u.atPatch(n.Name) {
				next.Nodes[i].Patched = u.in.Request.Upgrade.Patch
			}
			next.Nodes[i].Target = nil
		}
	})
}

// recap returns the result in one line: "worker-1, worker-2 upgraded to 1.35.4".
func (u *upgrader) recap() string {
	text := session.JoinNames(u.batch) + " " + u.done()
	switch {
	case len(u.batch)+len(u.left.Nodes) == 0:
		return "no node is left to be " + u.verb()
	case len(u.batch) == 0:
		text = "no node was " + u.verb()
	}
	return task.Cut(text+u.left.Text(), contract.MaxText)
}

// complete stores the record after a check of the whole cluster. If every node is at the level of the
// request, the request is that of the cluster, even if some are still to be patched.
func (u *upgrader) complete(ctx context.Context) error {
	if err := session.StoreComplete(ctx, u.ports.Installed, true); err != nil {
		return err
	}
	if slices.ContainsFunc(u.members.Now.Nodes, func(n contract.Node) bool { return !u.atLevel(n.Name) }) {
		return nil
	}
	return u.members.Change(ctx, func(next *contract.Installed) {
		next.Request = session.Lasting(u.in.Request)
		for i := range next.Nodes {
			next.Nodes[i].Version, next.Nodes[i].Settings = "", ""
		}
		next.SettlePatched()
	})
}
