package admission

import (
	"net/netip"
	"slices"
	"strings"
	"unicode"

	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// mostInterface is the maximum length of the id of a network or link, in bytes.
const mostInterface = 253

const accessAdvice = "write the range of the nodes' addresses, such as 10.60.0.0/24"

// validateAccess checks the ranges of the nodes' addresses: at most one of each address family, and
// no overlap with the cluster's internal ranges.
func validateAccess(s *v1alpha1.ProvisioningSpec) (errs *apis.FieldError) {
	families := map[bool]netip.Prefix{} // the key is true for IPv4 and false for IPv6
	for i, text := range s.Access.Subnets {
		subnet, err := parseAccess(text)
		if err == nil {
			err = clash(s, subnet)
		}
		if first, ok := families[subnet.Addr().Is4()]; ok && err == nil {
			err = problem(apis.CurrentField, "write one IPv4 range, one IPv6 range, or one of each", "%s and %s are of the same address family", first, subnet)
		}
		if err == nil {
			families[subnet.Addr().Is4()] = subnet
		}
		errs = errs.Also(err.ViaFieldIndex("subnets", i))
	}
	id := s.Access.Interface
	if strings.TrimSpace(id) != id || len(id) > mostInterface || strings.ContainsFunc(id, unicode.IsControl) {
		errs = errs.Also(problem("interface", "write the id of a network or a link from the hosts' network data, such as enp1s0", "%q is not a valid id", id))
	}
	return errs.ViaField("access")
}

// parseAccess parses the range of the nodes' addresses. It returns an error if text is not a range,
// or not a range that hosts can use.
func parseAccess(text string) (netip.Prefix, *apis.FieldError) {
	subnet, err := netip.ParsePrefix(text)
	switch {
	case err != nil || subnet.Addr().Is4In6():
		return netip.Prefix{}, problem(apis.CurrentField, accessAdvice, "%q is not a subnet", text)
	case subnet != subnet.Masked():
		return netip.Prefix{}, problem(apis.CurrentField, "write "+subnet.Masked().String(), "%q is not the first address of its range", text)
	}
	for _, r := range slices.Concat(reserved, reserved6) {
		if subnet.Overlaps(r.prefix) {
			return netip.Prefix{}, problem(apis.CurrentField, accessAdvice, "%q overlaps %s (%s)", text, r.prefix, r.use)
		}
	}
	return subnet, nil
}

// clash returns an error if the pod subnet or the service subnet overlaps the range of the nodes'
// addresses, because addresses of pods or services could then hide those of nodes. An invalid
// subnet is ignored here: validateSubnets reports it.
func clash(s *v1alpha1.ProvisioningSpec, nodes netip.Prefix) *apis.FieldError {
	for _, own := range []struct{ name, path, text string }{
		{"pod", "PodSubnet", s.PodSubnet},
		{"service", "kubernetes.serviceSubnet", s.Kubernetes.ServiceSubnet},
	} {
		all, _ := parseSubnets(own.text, own.path)
		if _, subnet, overlap := (ranges{nodes, nodes}).overlap(all); overlap {
			return problem(apis.CurrentField, "set spec."+own.path+" to a range outside the nodes' subnet", "the nodes' subnet %s and the %s subnet %s overlap", nodes, own.name, subnet)
		}
	}
	return nil
}
