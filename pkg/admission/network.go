package admission

import (
	"encoding/json"
	"net/netip"

	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// defaultNodePrefix is kubespray's default of kube_network_node_prefix: each node gets a /24 of the
// pod subnet.
const defaultNodePrefix = 24

// minServiceBits leaves 16 service addresses. The API server uses the first address and cluster DNS
// the third.
const minServiceBits = 28

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

const subnetAdvice = "write an IPv4 range such as 10.233.64.0/18"

// validateSubnets checks the pod subnet and the service subnet, and that they do not overlap.
func validateSubnets(s *v1alpha1.ProvisioningSpec) *apis.FieldError {
	const podPath, servicePath = "PodSubnet", "kubernetes.serviceSubnet"
	pods, errs := parseSubnet(s.PodSubnet, podPath)
	services, err := parseSubnet(s.Kubernetes.ServiceSubnet, servicePath)
	errs = errs.Also(err)

	if pods.IsValid() && services.IsValid() && pods.Overlaps(services) {
		errs = errs.Also(&apis.FieldError{
			Message: "pod subnet " + pods.String() + " and service subnet " + services.String() + " overlap",
			Paths:   []string{podPath, servicePath},
			Details: "use two ranges that do not overlap; the defaults are " + v1alpha1.DefaultPodSubnet + " for pods and " + v1alpha1.DefaultServiceSubnet + " for services",
		})
	}
	if services.IsValid() && services.Bits() > minServiceBits {
		errs = errs.Also(problem(servicePath, "write a /28 or a larger range", "%s is too small for services", services))
	}
	return errs.Also(validatePodRoom(s, pods))
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

// parseSubnet parses text as an IPv4 range that a cluster can use. For an empty string it returns
// neither a range nor an error, because the default applies.
func parseSubnet(text, path string) (netip.Prefix, *apis.FieldError) {
	if text == "" {
		return netip.Prefix{}, nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, problem(path, subnetAdvice, "%q is not a subnet", text)
	}
	if !prefix.Addr().Is4() {
		return netip.Prefix{}, problem(path, subnetAdvice, "%q is an IPv6 range, which this version of BPA does not support", text)
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
