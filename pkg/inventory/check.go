package inventory

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// checked is a request whose fields have all been checked, so they are safe to write into the
// inventory.
type checked struct {
	request        contract.Request
	ordered        []contract.Node       // the nodes in the order of Members
	addresses      map[string]netip.Addr // by node name
	second         map[string]netip.Addr // IPv6 addresses by node name, only of nodes that have a second address
	pods, services ranges
}

// ranges are an IPv4 range and, in a cluster with both address families, an IPv6 range; otherwise the latter is the zero Prefix.
type ranges struct {
	v4, v6 netip.Prefix
}

func (r ranges) contains(ip netip.Addr) bool { return r.v4.Contains(ip) || r.v6.Contains(ip) }

// of returns the range that has the address.
func (r ranges) of(ip netip.Addr) netip.Prefix {
	if r.v6.Contains(ip) {
		return r.v6
	}
	return r.v4
}

var (
	nodeName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	userName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,31}$`)
	version  = regexp.MustCompile(`^[0-9]{1,4}(\.[0-9]{1,4}){2}(-[0-9A-Za-z]+(\.[0-9A-Za-z]+)*)?$`)
	plugin   = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`)
	taint    = regexp.MustCompile(`^[A-Za-z0-9./_-]+=[A-Za-z0-9._-]*:(NoSchedule|PreferNoSchedule|NoExecute)$`)
	apiName  = regexp.MustCompile(`^[0-9a-z*.:-]{1,253}$`)
	variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	// depot matches URLs without the characters that have a special meaning in Ansible's templates
	// or in containerd's configuration.
	depot = regexp.MustCompile(`^https?://[0-9A-Za-z.:/_~%!*()+,=&\[\]-]+$`)
)

// reserved are names that no node may have, because they are names of groups or of the machine on
// which Ansible runs.
var reserved = []string{"all", "ungrouped", "localhost", "etcd"}

// literals are user names that Ansible would read in an inventory as Python values instead of
// strings.
var literals = []string{"True", "False", "None"}

// connection are prefixes of forbidden variables. Such variables could make Ansible connect to
// machines other than the nodes, or skip the verification of host keys.
var connection = []string{"ansible_ssh_", "ansible_host", "ansible_port", "ansible_user", "ansible_password", "ansible_connection",
	"ansible_remote_", "ansible_private_key", "ansible_paramiko", "ansible_shell", "ansible_scp", "ansible_sftp"}

func check(request contract.Request, nodes []contract.Node) (checked, error) {
	ordered, _ := Members(request, nodes)
	c := checked{request: request, ordered: ordered, addresses: map[string]netip.Addr{}, second: map[string]netip.Addr{}}
	for _, f := range []struct {
		name, value string
		pattern     *regexp.Regexp
	}{
		{"SSH user", request.SSHUser, userName},
		{"Kubernetes version", request.KubernetesVersion, version},
		{"network plugin", request.NetworkPlugin, plugin},
	} {
		if !f.pattern.MatchString(f.value) {
			return c, fmt.Errorf("%s %q does not match %s", f.name, f.value, f.pattern)
		}
	}
	if slices.Contains(literals, request.SSHUser) {
		return c, fmt.Errorf("SSH user %q has a special meaning in Ansible: set another user in spec.ssh.user", request.SSHUser)
	}
	if request.SSHPort < 1 || request.SSHPort > 65535 {
		return c, fmt.Errorf("SSH port %d is not between 1 and 65535", request.SSHPort)
	}
	return c, cmp.Or(c.checkDepot(), c.checkSubnets(), c.checkAPI(), c.checkNodes(), c.checkVersions(), c.checkVars(), checkPluginGroups(request))
}

func (c *checked) checkDepot() error {
	text := c.request.DepotURL
	if text == "" {
		return nil
	}
	if u, err := url.Parse(text); err != nil || u.Hostname() == "" || !depot.MatchString(text) {
		return fmt.Errorf("depot URL %q is not like http://10.60.0.1:5000", text)
	}
	return nil
}

// checkAPI checks that the address and the names of the API servers have no character with a meaning in Ansible's templates.
func (c *checked) checkAPI() error {
	api := c.request.API
	if api == nil {
		return nil
	}
	if api.Balanced() && (!apiName.MatchString(api.Address) || api.Port < 1 || api.Port > 65535) {
		return fmt.Errorf("address of the API servers: %q, port %d", api.Address, api.Port)
	}
	if i := slices.IndexFunc(api.Names, func(name string) bool { return !apiName.MatchString(name) }); i >= 0 {
		return fmt.Errorf("%q is no name for the certificate of the API servers", api.Names[i])
	}
	return nil
}

func (c *checked) checkSubnets() (err error) {
	if c.pods, err = subnets("pod", c.request.PodSubnet); err != nil {
		return err
	}
	if c.services, err = subnets("service", c.request.ServiceSubnet); err != nil {
		return err
	}
	switch {
	case c.pods.v4.Overlaps(c.services.v4):
		return fmt.Errorf("pod subnet %s and service subnet %s overlap", c.pods.v4, c.services.v4)
	case c.pods.v6.Overlaps(c.services.v6):
		return fmt.Errorf("pod subnet %s and service subnet %s overlap", c.pods.v6, c.services.v6)
	case c.pods.v6.IsValid() != c.services.v6.IsValid():
		return errors.New("pods and services must both have an IPv6 range, or none of them")
	}
	return nil
}

func subnets(what, text string) (r ranges, err error) {
	first, second := contract.Families(text)
	if r.v4, err = subnet(what, first, netip.Addr.Is4); err == nil && second != "" {
		r.v6, err = subnet(what, second, netip.Addr.Is6)
	}
	return r, err
}

func subnet(what, text string, family func(netip.Addr) bool) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(text)
	if err != nil || !family(prefix.Addr()) {
		return prefix, fmt.Errorf("%s subnet %q is not a CIDR like 10.233.64.0/18, or like 10.233.64.0/18,fd00:1::/112 in a cluster with both address families", what, text)
	}
	return prefix.Masked(), nil
}

func (c *checked) checkNodes() error {
	owners, etcd := map[netip.Addr]string{}, map[string]string{}
	masters := 0
	for _, node := range c.ordered {
		ip, err := c.checkNode(node)
		if err != nil {
			return fmt.Errorf("node %q: %w", node.Name, err)
		}
		if _, dup := c.addresses[node.Name]; dup {
			return fmt.Errorf("two nodes have the name %q", node.Name)
		}
		if other, dup := owners[ip]; dup {
			return fmt.Errorf("nodes %s and %s have the same address %s", other, node.Name, ip)
		}
		if err := c.checkSecond(node, owners); err != nil {
			return err
		}
		if err := checkEtcd(node, etcd); err != nil {
			return err
		}
		if err := c.checkOwnVars(node); err != nil {
			return fmt.Errorf("node %q: %w", node.Name, err)
		}
		c.addresses[node.Name], owners[ip] = ip, node.Name
		if slices.Contains(node.Roles, contract.RoleControlPlane) {
			masters++
		}
	}
	if masters == 0 {
		return errors.New("no node has the role " + contract.RoleControlPlane)
	}
	return c.checkMovingAddress(owners)
}

// checkMovingAddress checks that no node has the address that moves between the control planes.
func (c *checked) checkMovingAddress(owners map[netip.Addr]string) error {
	api := c.request.API
	if !api.Moves() {
		return nil
	}
	ip, err := netip.ParseAddr(api.Address)
	if err != nil || !ip.Is4() {
		return fmt.Errorf("the address %q of the API servers, which moves between the control planes, is no IPv4 address", api.Address)
	}
	if owner, taken := owners[ip]; taken {
		return fmt.Errorf("node %s has the address %s, which is to move between the control planes: write an address into spec.kubernetes.api that no machine has", owner, ip)
	}
	return nil
}

func (c *checked) checkNode(node contract.Node) (netip.Addr, error) {
	ip, err := netip.ParseAddr(node.Address)
	switch {
	case !nodeName.MatchString(node.Name):
		err = errors.New("the name is not a DNS label: use lower case letters, digits and dashes")
	case slices.Contains(reserved, node.Name):
		err = errors.New("the name has a special meaning in Ansible: choose another")
	case len(node.Roles) == 0:
		err = errors.New("it has no role")
	case err != nil || ip.Zone() != "" || !ip.Unmap().IsGlobalUnicast():
		err = fmt.Errorf("its address %q is not an IP address that other machines can reach", node.Address)
	default:
		err = c.checkOutside(ip.Unmap())
	}
	for _, role := range node.Roles {
		if role != contract.RoleControlPlane && role != contract.RoleWorker {
			err = fmt.Errorf("its role %q is neither %s nor %s", role, contract.RoleControlPlane, contract.RoleWorker)
		}
	}
	for _, t := range c.request.TaintsOf(node) {
		if !taint.MatchString(t) {
			err = fmt.Errorf("its taint %q is not like example.org/gpu=yes:NoSchedule", t)
		}
	}
	return ip.Unmap(), err
}

// checkOutside checks that the address of a node is not one of the cluster's own.
func (c *checked) checkOutside(ip netip.Addr) error {
	switch {
	case c.pods.contains(ip):
		return fmt.Errorf("its address %s is inside the pod subnet %s: choose another PodSubnet", ip, c.pods.of(ip))
	case c.services.contains(ip):
		return fmt.Errorf("its address %s is inside the service subnet %s: choose another serviceSubnet", ip, c.services.of(ip))
	}
	return nil
}

// checkSecond checks a node's second address. In a cluster with both families, each node has one.
func (c *checked) checkSecond(node contract.Node, owners map[netip.Addr]string) error {
	switch {
	case node.Address6 == "" && c.pods.v6.IsValid():
		return fmt.Errorf("node %q: it has no IPv6 address, and the cluster has both address families: give its host one in the IPv6 range of spec.access.subnets", node.Name)
	case node.Address6 == "":
		return nil
	}
	ip, err := netip.ParseAddr(node.Address6)
	if err != nil || !ip.Is6() || ip.Is4In6() || ip.Zone() != "" || !ip.IsGlobalUnicast() {
		return fmt.Errorf("node %q: its second address %q is not an IPv6 address that other machines can reach", node.Name, node.Address6)
	}
	if other, dup := owners[ip]; dup {
		return fmt.Errorf("nodes %s and %s have the same address %s", other, node.Name, ip)
	}
	if err := c.checkOutside(ip); err != nil {
		return fmt.Errorf("node %q: %w", node.Name, err)
	}
	c.second[node.Name], owners[ip] = ip, node.Name
	return nil
}

// checkEtcd checks the name of the node's member of etcd, if it has one. owners are the nodes by
// the names that are already known.
func checkEtcd(node contract.Node, owners map[string]string) error {
	if node.Etcd == "" {
		return nil
	}
	if !nodeName.MatchString(node.Etcd) {
		return fmt.Errorf("node %q: the name %q of its member of etcd does not match %s", node.Name, node.Etcd, nodeName)
	}
	if other, dup := owners[node.Etcd]; dup {
		return fmt.Errorf("nodes %s and %s have the same name %s in etcd", other, node.Name, node.Etcd)
	}
	owners[node.Etcd] = node.Name
	return nil
}

func (c *checked) checkVars() error {
	for _, name := range slices.Concat(slices.Collect(maps.Keys(c.request.Vars)), slices.Collect(maps.Keys(c.request.SecretVars)), slices.Collect(maps.Keys(c.request.PluginVars))) {
		if err := checkVar(name); err != nil {
			return err
		}
	}
	return nil
}

func checkVar(name string) error {
	if !variable.MatchString(name) {
		return fmt.Errorf("kubespray variable %q: the name does not match %s", name, variable)
	}
	if slices.ContainsFunc(connection, func(begin string) bool { return strings.HasPrefix(name, begin) }) {
		return fmt.Errorf("kubespray variable %q is not allowed: set the connection to nodes in spec.ssh", name)
	}
	return nil
}
