package kubespray

import (
	"encoding/json"
	"net/netip"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// apiPort is kubespray's default of kube_apiserver_port.
const apiPort = 6443

// kubectlOn returns the beginning of a command that runs kubectl on a control plane. In a cluster with
// several control planes, it uses the API server of this control plane: the file admin.conf of a
// control plane that joined names the first one, which may be lost.
func (in Input) kubectlOn(n contract.Node) string {
	ip, err := netip.ParseAddr(n.Address)
	if err != nil || ip.Zone() != "" || !in.hasOtherPlanes(n) {
		return kubectl
	}
	return kubectl + "--server https://" + netip.AddrPortFrom(ip, in.apiPort()).String() + " "
}

// hasOtherPlanes reports whether the cluster has or had other control planes.
func (in Input) hasOtherPlanes(n contract.Node) bool {
	all := node.ControlPlanes(slices.Concat(in.Nodes, in.others, in.Request.Members))
	return slices.ContainsFunc(all, func(other contract.Node) bool { return other.HostUID != n.HostUID })
}

// apiPort returns the port of the API servers.
func (in Input) apiPort() uint16 {
	var vars struct {
		Port uint16 `json:"kube_apiserver_port"`
	}
	if json.Unmarshal(in.GroupVars, &vars) != nil || vars.Port == 0 {
		return apiPort
	}
	return vars.Port
}
