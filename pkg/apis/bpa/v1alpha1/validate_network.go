package v1alpha1

import (
	"encoding/json"
	"net/netip"

	"knative.dev/pkg/apis"
)

// defaultNodePrefix is kubespray's kube_network_node_prefix: each node gets a /24 of the pod subnet.
const defaultNodePrefix = 24

// minServiceBits leaves 16 service addresses: the API server has the first one and cluster DNS the third.
const minServiceBits = 28

type reservation struct {
	prefix netip.Prefix
	use    string
}

// reserved are ranges that no cluster network can have.
var reserved = []reservation{
	{netip.MustParsePrefix("0.0.0.0/8"), "this network"},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local"},
	{netip.MustParsePrefix("224.0.0.0/3"), "multicast and reserved"},
}

// reserved6 are those of IPv6.
var reserved6 = []reservation{
	{netip.MustParsePrefix("::/127"), "unspecified and loopback"},
	{netip.MustParsePrefix("fe80::/10"), "link-local"},
	{netip.MustParsePrefix("ff00::/8"), "multicast"},
}

const subnetAdvice = "write an IPv4 range such as 10.233.64.0/18"

// validateSubnets looks at the pods' and the services' range, each by itself and together.
func (s *ProvisioningSpec) validateSubnets() *apis.FieldError {
	const podPath, servicePath = "PodSubnet", "kubernetes.serviceSubnet"
	pods, errs := parseSubnet(s.PodSubnet, podPath)
	services, err := parseSubnet(s.Kubernetes.ServiceSubnet, servicePath)
	errs = errs.Also(err)

	if pods.IsValid() && services.IsValid() && pods.Overlaps(services) {
		errs = errs.Also(&apis.FieldError{
			Message: "pods " + pods.String() + " and services " + services.String() + " overlap",
			Paths:   []string{podPath, servicePath},
			Details: "give one of them a range outside the other; left out, pods have " + DefaultPodSubnet + " and services " + DefaultServiceSubnet,
		})
	}
	if services.IsValid() && services.Bits() > minServiceBits {
		errs = errs.Also(problem(servicePath, "write a range of /28 or more", "%s is too small for services", services))
	}
	return errs.Also(s.validatePodRoom(pods))
}

// validatePodRoom asks for a piece of the pod subnet for every node. Calico cuts its own pieces.
func (s *ProvisioningSpec) validatePodRoom(pods netip.Prefix) *apis.FieldError {
	if !pods.IsValid() || s.Kubernetes.NetworkPlugin == "calico" {
		return nil
	}
	each := defaultNodePrefix
	if v, ok := s.Kubespray.Vars["kube_network_node_prefix"]; ok && json.Unmarshal(v.Raw, &each) != nil {
		return nil // kubespray will say it
	}
	nodes := s.nodeCount()
	if room := each - pods.Bits(); room >= 31 || room >= 0 && 1<<room >= nodes {
		return nil
	}
	return problem("PodSubnet", "write a larger range, or a smaller piece for each node in spec.kubespray.vars.kube_network_node_prefix",
		"%s has no room for a /%d for each of %d nodes", pods, each, nodes)
}

// parseSubnet gives a valid range, or the reason why text is none. An empty text is neither: it stands for the default.
func parseSubnet(text, path string) (netip.Prefix, *apis.FieldError) {
	if text == "" {
		return netip.Prefix{}, nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, problem(path, subnetAdvice, "%q is no subnet", text)
	}
	if !prefix.Addr().Is4() {
		return netip.Prefix{}, problem(path, subnetAdvice, "%q is IPv6, which this version of BPA does not configure", text)
	}
	if prefix != prefix.Masked() {
		return netip.Prefix{}, problem(path, "write "+prefix.Masked().String(), "%q is not the first address of its range", text)
	}
	for _, r := range reserved {
		if prefix.Overlaps(r.prefix) {
			return netip.Prefix{}, problem(path, subnetAdvice, "%q overlaps %s (%s)", text, r.prefix, r.use)
		}
	}
	return prefix, nil
}
