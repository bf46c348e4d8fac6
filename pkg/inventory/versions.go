package inventory

import (
	"fmt"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// ownVersion returns the Kubernetes version of a node that the run does not upgrade, if it is another
// one than that of the request; empty: the version of the request applies. A variable of the host
// overrides that of all hosts. Without it, the playbook that adds a control plane node in the middle of
// an upgrade would give its version to all control planes at once.
func ownVersion(request contract.Request, n contract.Node) string {
	upgraded := request.Upgrade != nil && slices.Contains(request.Upgrade.Nodes, n.Name)
	v := n.Version
	if n.Target != nil && n.Target.Version != "" { // it may have parts of this version already, and etcd cannot go back
		v = n.Target.Version
	}
	if upgraded || v == request.KubernetesVersion {
		return ""
	}
	return v
}

// checkVersions checks the versions that nodes keep.
func (c *checked) checkVersions() error {
	for _, n := range c.ordered {
		if v := ownVersion(c.request, n); v != "" && !version.MatchString(v) {
			return fmt.Errorf("node %q: its Kubernetes version %q does not match %s", n.Name, v, version)
		}
	}
	return nil
}

// checkPins refuses checksums of one version if the playbook also runs on nodes of another version:
// kubespray would compare the files of these nodes with them.
func (c *checked) checkPins(pins Pins) error {
	if len(pins) == 0 || c.request.Operation != contract.OperationAddControlPlane || len(newMembers(c.request, c.ordered)) == 0 {
		return nil
	}
	for _, n := range c.ordered {
		if v := ownVersion(c.request, n); v != "" && isMaster(n) {
			return fmt.Errorf("control plane node %s has Kubernetes %s, but the depot's checksums are those of the files for %s, so no control plane node can join in the middle of this upgrade. "+
				"What to do: make the host of the lost control plane node usable again, so that the upgrade ends first; or, if kubespray knows both versions, set spec.depot.checksums to Kubespray until the node has joined",
				n.Name, v, c.request.KubernetesVersion)
		}
	}
	return nil
}

// newMembers returns the nodes that the run makes members of etcd. Only then does the playbook of an
// addition run on the other control planes, too.
func newMembers(request contract.Request, ordered []contract.Node) []contract.Node {
	former := formerMasters(request.Members)
	return slices.DeleteFunc(etcdMembers(ordered), func(n contract.Node) bool {
		i := indexOf(former, n)
		return i < len(former) && former[i].Etcd != ""
	})
}
