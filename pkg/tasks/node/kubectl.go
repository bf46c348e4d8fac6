package node

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// kubectl is the kubectl command on a control plane. It sets PATH, since sudo's PATH lacks
// /usr/local/bin on some systems.
const kubectl = `env PATH="$PATH:/usr/local/bin:/opt/bin" kubectl --kubeconfig /etc/kubernetes/admin.conf `

// apiPort is kubespray's default of kube_apiserver_port.
const apiPort = 6443

// Kubectl returns the beginning of a command that runs kubectl on a control plane. If all has other control
// planes, which the cluster has or had, it uses the API server of this control plane: the file admin.conf of
// a control plane that joined names the first one, which may be lost. It does the same if the file names a load
// balancer, which may not work. groupVars are the variables of the inventory, as JSON.
func Kubectl(n contract.Node, all []contract.Node, groupVars []byte) string {
	other := func(o contract.Node) bool { return o.HostUID != n.HostUID }
	if !slices.ContainsFunc(ControlPlanes(all), other) && !balanced(groupVars) {
		return kubectl
	}
	return OwnKubectl(n, groupVars)
}

// OwnKubectl is like Kubectl, and always uses the API server of this control plane, unless its address is not known.
func OwnKubectl(n contract.Node, groupVars []byte) string {
	ip, err := netip.ParseAddr(n.Address)
	if err != nil || ip.Zone() != "" {
		return kubectl
	}
	return kubectl + "--server https://" + netip.AddrPortFrom(ip, APIPort(groupVars)).String() + " "
}

// OwnServer returns the URL of the API server that Kubectl asks; empty: the one in the file admin.conf.
func OwnServer(n contract.Node, all []contract.Node, groupVars []byte) string {
	_, server, _ := strings.Cut(strings.TrimSpace(Kubectl(n, all, groupVars)), " --server ")
	return server
}

// balanced reports whether a load balancer is in front of the API servers.
func balanced(groupVars []byte) bool {
	var vars struct {
		Balancer json.RawMessage `json:"loadbalancer_apiserver"`
	}
	return json.Unmarshal(groupVars, &vars) == nil && len(vars.Balancer) > 0 && string(vars.Balancer) != "null"
}

// APIPort returns the port of the API servers.
func APIPort(groupVars []byte) uint16 {
	var vars struct {
		Port uint16 `json:"kube_apiserver_port"`
	}
	if json.Unmarshal(groupVars, &vars) != nil || vars.Port == 0 {
		return apiPort
	}
	return vars.Port
}
