package admission

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"

	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// defaultNodePrefix is kubespray's default of kube_network_node_prefix: each node gets a /24 of the
// pod subnet.
const defaultNodePrefix = 24

// minServiceBits leaves 16 service addresses. The API server uses the first address and cluster DNS
// the third. For IPv6, minServiceBits6 does, and kubeadm takes no larger range than maxServiceBits6.
const (
	minServiceBits  = 28
	minServiceBits6 = 124
	maxServiceBits6 = 108
)

type reservation struct {
	prefix netip.Prefix
	use    string
}

// reserved are IPv4 ranges that a cluster network must not overlap.
var reserved = []reservation{
	{netip.MustParsePrefix("0.0.0.0/8"), "this network"},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local"},
	{netip.MustParsePrefix("224.0.0.0/3"), "multicast and reserved"},
}

// reserved6 are IPv6 ranges that a cluster network must not overlap.
var reserved6 = []reservation{
	{netip.MustParsePrefix("::/127"), "unspecified and loopback"},
	{netip.MustParsePrefix("fe80::/10"), "link-local"},
	{netip.MustParsePrefix("ff00::/8"), "multicast"},
}

const (
	subnetAdvice  = "write an IPv4 range such as 10.233.64.0/18, and for a cluster with both families an IPv6 range after it: 10.233.64.0/18,fd85:ee78:d8a6:8607::1:0/112"
	subnet6Advice = "write an IPv6 range such as fd85:ee78:d8a6:8607::1:0/112"
)

// stackVariables are variables of kubespray that say the same as two ranges in a field.
var stackVariables = []string{"ipv4_stack", "ipv6_stack", "enable_dual_stack_networks", "kube_pods_subnet_ipv6", "kube_service_addresses_ipv6"}

// oneFamily are the network plugins that kubespray configures for one family only.
var oneFamily = []string{"kube-router", "macvlan"}

// ranges are the ranges in a field: an IPv4 one, and an IPv6 one if the cluster has both families.
type ranges struct {
	v4, v6 netip.Prefix
}

// overlap returns the ranges of one family that overlap.
func (r ranges) overlap(other ranges) (own, others netip.Prefix, is bool) {
	for _, pair := range [][2]netip.Prefix{{r.v4, other.v4}, {r.v6, other.v6}} {
		if pair[0].IsValid() && pair[1].IsValid() && pair[0].Overlaps(pair[1]) {
			return pair[0], pair[1], true
		}
	}
	return own, others, false
}

// validateSubnets checks the pod subnet and the service subnet, and that they do not overlap.
func validateSubnets(s *v1alpha1.ProvisioningSpec) *apis.FieldError {
	const podPath, servicePath = "PodSubnet", "kubernetes.serviceSubnet"
	pods, errs := parseSubnets(s.PodSubnet, podPath)
	services, err := parseSubnets(s.Kubernetes.ServiceSubnet, servicePath)
	errs = errs.Also(err)

	if p, s, overlap := pods.overlap(services); overlap {
		errs = errs.Also(&apis.FieldError{
			Message: "pod subnet " + p.String() + " and service subnet " + s.String() + " overlap",
			Paths:   []string{podPath, servicePath},
			Details: "use two ranges that do not overlap; the defaults are " + v1alpha1.DefaultPodSubnet + " for pods and " + v1alpha1.DefaultServiceSubnet + " for services",
		})
	}
	if services.v4.IsValid() && services.v4.Bits() > minServiceBits {
		errs = errs.Also(problem(servicePath, "write a /28 or a larger range", "%s is too small for services", services.v4))
	}
	if v6 := services.v6; v6.IsValid() && (v6.Bits() > minServiceBits6 || v6.Bits() < maxServiceBits6) {
		errs = errs.Also(problem(servicePath, "write a range from /108 to /124", "%s is no range that Kubernetes takes for services", v6))
	}
	if errs != nil {
		return errs
	}
	return validateFamilies(s, pods, services).Also(validatePodRoom(s, pods.v4), validatePodRoom6(s, pods.v6))
}

// validateFamilies checks that a cluster has both families everywhere, or nowhere.
func validateFamilies(s *v1alpha1.ProvisioningSpec, pods, services ranges) (errs *apis.FieldError) {
	switch {
	case !pods.v6.IsValid() && !services.v6.IsValid():
		return nil
	case !pods.v6.IsValid():
		return problem("PodSubnet", "add an IPv6 range after a comma, or remove that of services", "services have both families, and pods have one")
	case !services.v6.IsValid():
		return problem("kubernetes.serviceSubnet", "add an IPv6 range from /108 to /124 after a comma, or remove that of pods", "pods have both families, and services have one")
	}
	if len(s.Access.Subnets) < 2 {
		errs = errs.Also(problem("access.subnets", "write the IPv4 range and the IPv6 range of the nodes' addresses", "a cluster with both families needs nodes that have an address of each"))
	}
	if slices.Contains(oneFamily, s.Kubernetes.NetworkPlugin) {
		errs = errs.Also(problem("kubernetes.networkPlugin", "use flannel, calico, cilium or kube-ovn", "kubespray gives pods of %s one family only", s.Kubernetes.NetworkPlugin))
	}
	for _, name := range stackVariables {
		if _, set := s.Kubespray.Vars[name]; set {
			errs = errs.Also(problem("kubespray.vars."+name, "remove it", "the two ranges in spec.PodSubnet say the same"))
		}
	}
	return errs
}

// validatePodRoom checks that the pod subnet is large enough to give each node a range of its own.
// It does not check Calico, which divides the pod subnet in another way.
func validatePodRoom(s *v1alpha1.ProvisioningSpec, pods netip.Prefix) *apis.FieldError {
	if !pods.IsValid() || s.Kubernetes.NetworkPlugin == "calico" {
		return nil
	}
	each := defaultNodePrefix
	if v, ok := s.Kubespray.Vars["kube_network_node_prefix"]; ok && json.Unmarshal(v.Raw, &each) != nil {
		return nil // kubespray reports it
	}
	nodes := s.NodeCount()
	if room := each - pods.Bits(); room >= 31 || room >= 0 && 1<<room >= nodes {
		return nil
	}
	return problem("PodSubnet", "write a larger range, or give each node a smaller range with spec.kubespray.vars.kube_network_node_prefix",
		"%s has no room for %d nodes with a /%d each", pods, nodes, each)
}

// validatePodRoom6 does the same for IPv6. kubeadm does not divide a range by more than contract.MostNodeBits6.
func validatePodRoom6(s *v1alpha1.ProvisioningSpec, pods netip.Prefix) *apis.FieldError {
	const variable = "kube_network_node_prefix_ipv6"
	if !pods.IsValid() {
		return nil
	}
	each := contract.NodePrefix6(pods.Bits())
	if v, ok := s.Kubespray.Vars[variable]; ok && json.Unmarshal(v.Raw, &each) != nil {
		return nil // kubespray reports it
	}
	nodes, room := s.NodeCount(), each-pods.Bits()
	switch {
	case room > contract.MostNodeBits6:
		return problem("kubespray.vars."+variable, fmt.Sprintf("remove it, or write at most %d", pods.Bits()+contract.MostNodeBits6), "kubeadm does not divide %s into ranges of /%d", pods, each)
	case room >= 0 && 1<<room >= nodes || s.Kubernetes.NetworkPlugin == "calico":
		return nil
	}
	return problem("PodSubnet", "write a larger IPv6 range, or give each node a smaller one with spec.kubespray.vars."+variable,
		"%s has no room for %d nodes with a /%d each", pods, nodes, each)
}

// parseSubnets parses the range of a field, or the two of a cluster with both families. For an empty string it returns
// neither a range nor an error, because the default applies.
func parseSubnets(text, path string) (r ranges, errs *apis.FieldError) {
	if text == "" {
		return r, nil
	}
	first, second := contract.Families(text)
	r.v4, errs = parseSubnet(first, path, netip.Addr.Is4, reserved, subnetAdvice)
	if second != "" {
		var err *apis.FieldError
		r.v6, err = parseSubnet(second, path, netip.Addr.Is6, reserved6, subnet6Advice)
		errs = errs.Also(err)
	}
	return r, errs
}

// parseSubnet parses text as a range of a family that a cluster can use.
func parseSubnet(text, path string, family func(netip.Addr) bool, reserved []reservation, advice string) (netip.Prefix, *apis.FieldError) {
	prefix, err := netip.ParsePrefix(text)
	switch {
	case err != nil || prefix.Addr().Is4In6():
		return netip.Prefix{}, problem(path, advice, "%q is not a subnet", text)
	case !family(prefix.Addr()):
		return netip.Prefix{}, problem(path, advice, "%q is of the other address family: the IPv4 range is the first one, and no cluster has IPv6 alone", text)
	case prefix != prefix.Masked():
		return netip.Prefix{}, problem(path, "write "+prefix.Masked().String(), "%q is not the first address of its range", text)
	}
	for _, r := range reserved {
		if prefix.Overlaps(r.prefix) {
			return netip.Prefix{}, problem(path, advice, "%q overlaps %s (%s)", text, r.prefix, r.use)
		}
	}
	return prefix, nil
}
