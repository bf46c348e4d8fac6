package adopt

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// balancerOf returns the load balancer at which the nodes find the API servers; nil: they use a control plane, or it is not
// known. An IP address that no node has is that of a load balancer, or of a control plane that has left the cluster.
func balancerOf(c Cluster) *v1alpha1.APISpec {
	host, text, err := net.SplitHostPort(c.Endpoint)
	port, err2 := strconv.ParseUint(text, 10, 16)
	ofNode := func(n Node) bool { return overlap([]string{host}, n.Addresses) }
	if err != nil || err2 != nil || slices.ContainsFunc(c.Nodes, ofNode) {
		return nil
	}
	return &v1alpha1.APISpec{Mode: v1alpha1.APIExternal, Address: host, Port: int32(port)}
}

// compareAddress names another address of the API servers than that of the cluster: the next playbook would write it into
// some of the nodes. What variables of kubespray say is not compared.
func (p *Plan) compareAddress(c Cluster, r contract.Request) {
	if r.API.Moves() {
		p.Problems = append(p.Problems, "spec.kubernetes.api has mode VIP, but the cluster was not installed by BPA, so its address is not moved by BPA: write mode External")
		return
	}
	wants := strings.TrimPrefix(r.API.URL(), "https://")
	if c.Endpoint == "" || c.Endpoint == wants || wants == "" && r.ExternalEndpoint() {
		return
	}
	switch found := balancerOf(c); {
	case wants != "":
		p.Problems = append(p.Problems, fmt.Sprintf("spec.kubernetes.api is %s, and the nodes of the cluster use %s: correct it", wants, c.Endpoint))
	case found != nil && !isIP(found.Address):
		p.Problems = append(p.Problems, fmt.Sprintf("spec.kubernetes.api has no load balancer, and the nodes of the cluster use %s: add it", c.Endpoint))
	}
}

func isIP(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil
}
