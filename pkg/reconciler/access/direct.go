package access

import (
	"net/netip"
	"slices"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// direct returns the URL of the API server that the health checks ask if a load balancer, or an address that moves, is in front of the API servers:
// a failure of the load balancer must not look like one of the cluster. It is that of a control plane that is Ready, and
// stays the present one while the checks have an answer and that control plane is not lost: also if it is not Ready, because
// without the load balancer no node may be. Empty: there is no load balancer, or no control plane is known to be Ready, as
// when the asked one does not answer: then the checks ask through the load balancer.
func direct(p *v1alpha1.Provisioning, present *stored) string {
	if api := p.Spec.Kubernetes.API; api == nil || api.Mode != v1alpha1.APIExternal && api.Mode != v1alpha1.APIVIP {
		return ""
	}
	first := ""
	for _, n := range p.Status.Nodes {
		ip, err := netip.ParseAddr(n.Address)
		if err != nil || !slices.Contains(n.Roles, contract.RoleControlPlane) {
			continue
		}
		url := contract.APIServerURL(ip.String(), p.Spec.Kubespray.Vars["kube_apiserver_port"].Raw)
		switch answered := n.State == v1alpha1.NodeReady || n.State == v1alpha1.NodeNotReady; {
		case answered && present != nil && present.Server == url:
			return url
		case first == "" && n.State == v1alpha1.NodeReady:
			first = url
		}
	}
	return first
}
