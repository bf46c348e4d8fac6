package admission

import (
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"
	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// addressVariables are kubespray variables that say the same as spec.kubernetes.api.address.
var addressVariables = []string{"loadbalancer_apiserver", "loadbalancer_apiserver_localhost", "loadbalancer_apiserver_port",
	"apiserver_loadbalancer_domain_name", "kube_vip_enabled", "kube_vip_address"}

// namesVariable is the kubespray variable that says the same as spec.kubernetes.api.names.
const namesVariable = "supplementary_addresses_in_ssl_keys"

// validateAPI checks the address of the API servers. Whether it answers, only a run can say.
func validateAPI(s *v1alpha1.ProvisioningSpec) (errs *apis.FieldError) {
	api := s.Kubernetes.API
	if api == nil {
		return nil
	}
	switch api.Mode {
	case v1alpha1.APIExternal:
		errs = errs.Also(validateAddress(s, api.Address), validateOneAddress(s))
	case v1alpha1.APIVIP:
		errs = errs.Also(validateVirtual(s, api), validateOneAddress(s))
	case v1alpha1.APINode, "":
		if api.Address != "" || api.Port != 0 {
			errs = errs.Also(problem("mode", "write mode: External if a load balancer of the site has this address; otherwise remove address and port",
				"in mode Node, the API servers have the addresses of their control planes, and no other one"))
		}
	default:
		errs = errs.Also(problem("mode", "write Node, External or VIP", "%q is no mode", api.Mode))
	}
	for _, name := range api.Names {
		if !isAddress(name) && !isDNSName(name) && len(validation.IsWildcardDNS1123Subdomain(name)) > 0 {
			errs = errs.Also(problem("names", "write DNS names in lower case, or IP addresses", "%q is neither a DNS name nor an IP address", name))
		}
	}
	errs = errs.ViaField("api").ViaField("kubernetes")
	if _, set := s.Kubespray.Vars[namesVariable]; set && len(api.Names) > 0 {
		errs = errs.Also(problem("kubespray.vars."+namesVariable, "move its values into spec.kubernetes.api.names", "spec.kubernetes.api.names says the same"))
	}
	return errs
}

// validateOneAddress refuses the variables that say the same as the address. kubespray would mix both.
func validateOneAddress(s *v1alpha1.ProvisioningSpec) (errs *apis.FieldError) {
	for _, name := range addressVariables {
		if _, set := s.Kubespray.Vars[name]; set {
			errs = errs.Also(problem("mode", "remove spec.kubespray.vars."+name+", or spec.kubernetes.api", "spec.kubespray.vars.%s also says how the API servers are reached", name))
		}
	}
	return errs
}

// serverVariables are kubespray variables with which the API servers do not answer at an address that moves, or not the check
// of keepalived, which asks for /livez without a user as kubeadm's probes do.
var serverVariables = []string{"kube_apiserver_port", "kube_apiserver_bind_address", "kube_api_anonymous_auth"}

// validateVirtual checks an address that moves between the control planes. Whether a machine has it already, only a run can say.
func validateVirtual(s *v1alpha1.ProvisioningSpec, api *v1alpha1.APISpec) (errs *apis.FieldError) {
	const advice = "write an IPv4 address of the control planes' network that no machine has and no DHCP server gives away, such as 10.60.0.5"
	if ip, err := netip.ParseAddr(api.Address); err != nil || !ip.Is4() {
		errs = errs.Also(problem("address", advice, "%q is no IPv4 address, which mode VIP needs", api.Address))
	} else {
		errs = errs.Also(validateAddress(s, api.Address))
	}
	if api.Port != 0 && api.Port != v1alpha1.DefaultAPIPort {
		errs = errs.Also(problem("port", "remove it", "in mode VIP, the port is %d: the API servers listen on it", v1alpha1.DefaultAPIPort))
	}
	for _, name := range serverVariables {
		if _, set := s.Kubespray.Vars[name]; set {
			errs = errs.Also(problem("mode", "remove spec.kubespray.vars."+name, "spec.kubespray.vars.%s changes how the API servers answer, but mode VIP needs their defaults", name))
		}
	}
	return errs
}

// validateAddress checks the address of a load balancer, or one that moves.
func validateAddress(s *v1alpha1.ProvisioningSpec, address string) *apis.FieldError {
	const advice = "write the IPv4 address or the DNS name of the load balancer, such as 10.60.0.5 or api.edge-1.example"
	ip, err := netip.ParseAddr(address)
	switch {
	case address == "":
		return problem("address", advice, "mode External needs the address of the load balancer")
	case err != nil && !isDNSName(address):
		return problem("address", advice, "%q is neither an IP address nor a DNS name in lower case", address)
	case err != nil && strings.Contains(address, "localhost"):
		return problem("address", "use another name: kubespray takes one with localhost in it for the machine itself", "%q names the machine itself", address)
	case err != nil:
		return nil
	case !ip.Is4():
		return problem("address", "use a DNS name that has this address: kubespray writes the address and its port without brackets", "%q is an IPv6 address, which cannot be used here", address)
	}
	for _, r := range reserved {
		if r.prefix.Contains(ip) {
			return problem("address", advice, "%s is in %s (%s)", ip, r.prefix, r.use)
		}
	}
	for _, own := range []struct{ name, text string }{{"pod", s.PodSubnet}, {"service", s.Kubernetes.ServiceSubnet}} {
		first, _ := contract.Families(own.text)
		if subnet, err := netip.ParsePrefix(first); err == nil && subnet.Contains(ip) {
			return problem("address", "use an address of the site's network", "%s is in the %s subnet %s of the cluster", ip, own.name, subnet)
		}
	}
	return nil
}

func isAddress(text string) bool {
	ip, err := netip.ParseAddr(text)
	return err == nil && ip.Zone() == ""
}

// numeric is the last label of what is a wrong IP address rather than a name.
var numeric = regexp.MustCompile(`(^|\.)[0-9]+$`)

func isDNSName(text string) bool {
	return len(validation.IsDNS1123Subdomain(text)) == 0 && !numeric.MatchString(text)
}

// checkAPI refuses another address: all kubeconfigs of the nodes have it, and the certificate of the API servers.
func (e *edit) checkAPI() {
	was, is := e.was.Kubernetes.API, e.is.Kubernetes.API
	if !equality.Semantic.DeepEqual(was, is) {
		e.refuseFixed("kubernetes.api", "restore it"+anew,
			"the nodes and the certificates of the installed cluster have %s as the address of the API servers, which cannot change to %s", addressOf(was), addressOf(is))
	}
}

// addressOf describes an address of the API servers in a message.
func addressOf(api *v1alpha1.APISpec) string {
	text := "that of a control plane"
	if api != nil && api.Address != "" {
		text = net.JoinHostPort(api.Address, strconv.Itoa(int(api.Port)))
	}
	if api != nil && len(api.Names) > 0 {
		text += " (with the names " + strings.Join(api.Names, ", ") + ")"
	}
	return text
}
