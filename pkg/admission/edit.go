package admission

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// edit is an update of the spec of an installed cluster. It collects what is wrong with the update.
type edit struct {
	was, is       *v1alpha1.ProvisioningSpec
	before, after []namedNode
	status        []v1alpha1.NodeStatus // of the stored object
	// kept has the versions of the cluster; nil: they are not known, because the controller has not seen
	// the stored spec yet.
	kept     *keptVersions
	refused  []refusal
	warnings *apis.FieldError
}

// refusal is a part of an update that the installed cluster cannot follow, with its path in the spec.
// If the controller finds such a part in a stored spec, it does one of three things. If unapplied, it
// ignores the part, and for the roles, the subnets and so on it also blocks every run until the spec is
// restored (change.Refusal.Blocks). Otherwise it would apply the update.
type refusal struct {
	path, text, advice string
	unapplied, blocks  bool
}

// validateEdit refuses an update that requests what BPA cannot change in an installed cluster. Every
// other edit is applied. Before a cluster is installed, every edit is accepted, because nothing has to
// be kept.
//
// If the condition SpecChanged says that the stored spec is not that of the cluster, the refusals of what
// the controller does not apply are only warnings. Otherwise a user could not restore the spec. The other
// refusals stay, because the controller would apply the update: to rename a node, it erases the node's
// host.
func validateEdit(p *v1alpha1.Provisioning, old *v1alpha1.Provisioning) *apis.FieldError {
	if old == nil || old.Status.InstalledDigest == "" {
		return nil
	}
	e := &edit{was: &old.Spec, is: &p.Spec, before: namedNodes(&old.Spec), after: namedNodes(&p.Spec), status: old.Status.Nodes, kept: versionsOf(old)}
	e.checkFixed()
	e.checkAPI()
	e.checkRoles()
	e.checkControlPlane()
	e.checkNames()
	e.checkUpgrade()
	e.checkPlugins()
	errs := e.warnings
	for _, r := range e.refused {
		switch {
		case r.blocks && differs(old):
			errs = errs.Also(warning(r.path, "%s; the spec already differs from the cluster, so this is only a warning; unless this edit restores the spec, BPA starts no run until it is restored", r.text))
		case r.unapplied && differs(old):
			errs = errs.Also(warning(r.path, "%s; the spec already differs from the cluster, so this is only a warning; the cluster keeps what it has", r.text))
		default:
			errs = errs.Also(problem(r.path, r.advice, "%s", r.text))
		}
	}
	return errs
}

// differs reports whether the controller has found that the spec is not that of the cluster.
func differs(p *v1alpha1.Provisioning) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c apis.Condition) bool { return c.Reason == v1alpha1.ReasonSpecChanged })
}

func (e *edit) refuse(path, advice, format string, args ...any) {
	e.refused = append(e.refused, refusal{path: path, text: fmt.Sprintf(format, args...), advice: advice})
}

// refuseFixed is like refuse, for what the controller does not apply either: it starts no run.
func (e *edit) refuseFixed(path, advice, format string, args ...any) {
	e.refused = append(e.refused, refusal{path, fmt.Sprintf(format, args...), advice, true, true})
}

func (e *edit) warn(path, format string, args ...any) {
	e.warnings = e.warnings.Also(warning(path, format, args...))
}

// anew completes the advice on what a cluster cannot become.
const anew = "; to install the cluster again with the new value, delete the Provisioning and apply it again"

// checkFixed refuses other values of fields that are part of every node of the cluster.
func (e *edit) checkFixed() {
	was, is := e.was, e.is
	for _, f := range []struct{ path, was, is string }{
		{"PodSubnet", was.PodSubnet, is.PodSubnet},
		{"kubernetes.serviceSubnet", was.Kubernetes.ServiceSubnet, is.Kubernetes.ServiceSubnet},
		{"kubernetes.networkPlugin", was.Kubernetes.NetworkPlugin, is.Kubernetes.NetworkPlugin},
	} {
		if f.was != f.is {
			e.refuseFixed(f.path, "write "+f.was+anew, "the cluster is installed with %s and cannot change to %s", f.was, f.is)
		}
	}
	if !equality.Semantic.DeepEqual(was.Access, is.Access) {
		e.refuseFixed("access", fmt.Sprintf("restore it (subnets: %v, interface: %q)", was.Access.Subnets, was.Access.Interface)+anew,
			"the nodes of the installed cluster keep their addresses, so the selection of addresses cannot change")
	}
}

// checkNames refuses to rename a node, and warns if a node is pinned to another host.
func (e *edit) checkNames() {
	for _, n := range e.after {
		before := find(e.before, n.name)
		switch {
		case n.mac == "":
		case before != nil && before.mac != n.mac:
			e.warn(n.path+".mac-address", "node %q is now pinned to %s: if this is not its present host, BPA removes the node from the cluster, with its pods and local data, "+
				"and installs it again on that host", n.name, n.mac)
		case before == nil:
			e.checkRenamed(n)
		}
	}
}

func (e *edit) checkRenamed(n namedNode) {
	for _, gone := range e.before {
		restored := e.installed(n.name) && !e.installed(gone.name) // the cluster has the node by the name that it gets back
		if gone.mac == n.mac && find(e.after, gone.name) == nil && !restored {
			e.refuse(n.path, fmt.Sprintf("keep the name %[1]s; or remove %[1]s, wait until its host is released (kubectl bpa hosts), and then add the host under the new name", gone.name),
				"the host with MAC address %s is node %q of the installed cluster, and a node cannot be renamed to %q", n.mac, gone.name, n.name)
		}
	}
}

// installed reports whether the cluster has a node of this name, as the controller has last seen it.
func (e *edit) installed(name string) bool {
	return slices.ContainsFunc(e.status, func(n v1alpha1.NodeStatus) bool { return n.Name == name && isInstalled(n) })
}

// isInstalled reports whether the node is one of the cluster, even if its host is lost.
func isInstalled(n v1alpha1.NodeStatus) bool {
	return n.State == v1alpha1.NodeReady || n.State == v1alpha1.NodeLost
}

// namedNode is a node that a spec requests by name.
type namedNode struct {
	name, path   string
	mac          v1alpha1.MAC // in canonical notation; empty: none, or an invalid one
	controlPlane bool
	worker       bool // it is in the list of workers
}

// namedNodes returns the nodes of masters and workers. Unlike Slots, it also accepts a spec that does
// not pass Validate, because an older version of BPA may have stored it.
func namedNodes(s *v1alpha1.ProvisioningSpec) []namedNode {
	var nodes []namedNode
	add := func(n namedNode, address *v1alpha1.MAC) {
		if address != nil {
			n.mac, _, _ = v1alpha1.CheckMAC(string(*address))
		}
		same := find(nodes, n.name)
		if same == nil {
			nodes = append(nodes, n)
			return
		}
		same.worker = same.worker || n.worker
		if same.mac == "" {
			same.mac = n.mac
		}
	}
	for i, item := range s.Masters {
		for _, name := range slices.Sorted(maps.Keys(item)) {
			add(namedNode{name: name, path: fmt.Sprintf("masters[%d].%s", i, name), controlPlane: true}, item[name].MACAddress)
		}
	}
	for i, item := range s.Workers {
		for _, name := range slices.Sorted(maps.Keys(item)) {
			add(namedNode{name: name, path: fmt.Sprintf("workers[%d].%s", i, name), worker: true}, item[name].MACAddress)
		}
	}
	return nodes
}

// find returns the node of this name, or nil.
func find(nodes []namedNode, name string) *namedNode {
	if i := slices.IndexFunc(nodes, func(n namedNode) bool { return n.name == name }); i >= 0 {
		return &nodes[i]
	}
	return nil
}
