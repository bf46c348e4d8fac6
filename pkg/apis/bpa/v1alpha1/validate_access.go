package v1alpha1

import (
	"net/netip"
	"slices"
	"strings"
	"unicode"

	"knative.dev/pkg/apis"
)

// mostInterface bounds the id of a network, in bytes.
const mostInterface = 253

const accessAdvice = "write the range that the nodes' addresses are in, such as 10.60.0.0/24"

// validateAccess looks at the ranges of the nodes' own addresses: at most one of each family, and none that the cluster uses inside.
func (s *ProvisioningSpec) validateAccess() (errs *apis.FieldError) {
	families := map[bool]netip.Prefix{} // by whether it is IPv4
	for i, text := range s.Access.Subnets {
		subnet, err := parseAccess(text)
		if err == nil {
			err = s.clash(subnet)
		}
		if first, ok := families[subnet.Addr().Is4()]; ok && err == nil {
			err = problem(apis.CurrentField, "write one IPv4 range, one IPv6 range, or one of each", "%s and %s are of the same family", first, subnet)
		}
		if err == nil {
			families[subnet.Addr().Is4()] = subnet
		}
		errs = errs.Also(err.ViaFieldIndex("subnets", i))
	}
	id := s.Access.Interface
	if strings.TrimSpace(id) != id || len(id) > mostInterface || strings.ContainsFunc(id, unicode.IsControl) {
		errs = errs.Also(problem("interface", "write the id of a network or a link as it is in the hosts' network data, such as enp1s0", "%q is no id", id))
	}
	return errs.ViaField("access")
}

// parseAccess gives a range, or the reason why text is none that hosts can have.
func parseAccess(text string) (netip.Prefix, *apis.FieldError) {
	subnet, err := netip.ParsePrefix(text)
	switch {
	case err != nil || subnet.Addr().Is4In6():
		return netip.Prefix{}, problem(apis.CurrentField, accessAdvice, "%q is no subnet", text)
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

// clash says which of the cluster's own ranges overlaps the nodes': pods would hide nodes. Ranges that are none are told elsewhere.
func (s *ProvisioningSpec) clash(nodes netip.Prefix) *apis.FieldError {
	for _, own := range []struct{ name, path, text string }{
		{"pods", "PodSubnet", s.PodSubnet},
		{"services", "kubernetes.serviceSubnet", s.Kubernetes.ServiceSubnet},
	} {
		if subnet, err := netip.ParsePrefix(own.text); err == nil && subnet.Overlaps(nodes) {
			return problem(apis.CurrentField, "set spec."+own.path+" to a range outside the nodes'", "nodes %s and %s %s overlap", nodes, own.name, subnet)
		}
	}
	return nil
}
