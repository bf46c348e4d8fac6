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
	pods, services netip.Prefix
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
	if c.pods, err = subnet("pod", c.request.PodSubnet); err != nil {
		return err
	}
	if c.services, err = subnet("service", c.request.ServiceSubnet); err != nil {
		return err
	}
	if c.pods.Overlaps(c.services) {
		return fmt.Errorf("pod subnet %s and service subnet %s overlap", c.pods, c.services)
	}
	return nil
}

func subnet(what, text string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return prefix, fmt.Errorf("%s subnet %q is not a CIDR like 10.233.64.0/18", what, text)
	}
	if !prefix.Addr().Is4() {
		return prefix, fmt.Errorf("%s subnet %s is not IPv4: BPA sets up only IPv4 by itself; for an IPv6 cluster set spec.kubespray.vars", what, text)
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
	case c.pods.Contains(ip.Unmap()):
		err = fmt.Errorf("its address %s is inside the pod subnet %s: choose another PodSubnet", ip, c.pods)
	case c.services.Contains(ip.Unmap()):
		err = fmt.Errorf("its address %s is inside the service subnet %s: choose another serviceSubnet", ip, c.services)
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

// checkSecond checks a node's second address, if it has one.
func (c *checked) checkSecond(node contract.Node, owners map[netip.Addr]string) error {
	if node.Address6 == "" {
		return nil
	}
	ip, err := netip.ParseAddr(node.Address6)
	if err != nil || !ip.Is6() || ip.Is4In6() || ip.Zone() != "" || !ip.IsGlobalUnicast() {
		return fmt.Errorf("node %q: its second address %q is not an IPv6 address that other machines can reach", node.Name, node.Address6)
	}
	if other, dup := owners[ip]; dup {
		return fmt.Errorf("nodes %s and %s have the same address %s", other, node.Name, ip)
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
