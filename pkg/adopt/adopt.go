package adopt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/change"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/ssh"
)

// Input is what is known about the cluster.
type Input struct {
	User    contract.User // the cluster, with its identity
	Cluster Cluster
	Servers []Server
	// Provisioning is the wanted one, with its defaults; nil: it is derived from the cluster. SSH is then how BPA logs in.
	Provisioning *v1alpha1.Provisioning
	SSH          v1alpha1.SSHSpec
	// Silent also claims hosts that do not answer, see rows.
	Silent bool
	// Request makes the request of a Provisioning, as the controller does.
	Request func(*v1alpha1.Provisioning) (contract.Request, error)
}

// Plan is what adopt would write.
type Plan struct {
	Rows []Row // of all servers, in their order
	// Problems are why nothing is written. Notes are what a user should know.
	Problems, Notes []string
	Provisioning    *v1alpha1.Provisioning
	// Record is the record of the cluster. Claimed are its nodes as select-hosts stores them, and Hosts the states of
	// their hosts.
	Record  contract.Installed
	Claimed []contract.Node
	Hosts   contract.HostStates
	Pins    ssh.Pins
	// Next are the operations that BPA starts after that, in words. Pause reports that one of them drains nodes, so that
	// the Provisioning stays paused until a user has seen them.
	Next  []string
	Pause bool
}

// Make compares the servers with the cluster and returns what adopt would write.
func Make(in Input) (Plan, error) {
	p := Plan{Provisioning: in.Provisioning}
	owner := hosts.Owner{Namespace: in.User.Namespace, Name: in.User.Name}
	if p.Provisioning != nil {
		owner = hosts.OwnerIn(p.Provisioning.HostNamespace(), owner.Namespace, owner.Name)
	}
	p.Rows, p.Problems = rows(in.User, owner, in.Cluster, in.Servers, in.Silent)
	if len(in.Cluster.Members) == 0 {
		p.Problems = append(p.Problems, "the members of etcd are not known")
	}
	var nodes []contract.Node
	for _, n := range sorted(in.Cluster) {
		if i := slices.IndexFunc(p.Rows, func(r Row) bool { return r.Node == n.Name }); i >= 0 {
			nodes = append(nodes, makeNode(in.Cluster, n, in.Servers[i]))
			p.pin(in.Servers[i])
		}
	}
	if p.Provisioning == nil {
		p.Provisioning = derive(in, nodes)
		p.Notes = append(p.Notes, "Without -f, the Provisioning is derived: each node is pinned to its host, and kubespray variables, node sets, plugins, "+
			"schedules and policies that the cluster had are not known")
		if in.Cluster.NetworkPlugin == "" {
			p.Problems = append(p.Problems, "the network plugin of the cluster is not recognized: give a file with spec.kubernetes.networkPlugin with -f")
		}
		if _, both := contract.Families(in.Cluster.PodSubnet); both != "" {
			p.Problems = append(p.Problems, "the cluster has both address families, so the ranges of its nodes must be known: give a file with spec.access.subnets with -f")
		}
	}
	request, err := in.Request(p.Provisioning)
	if err != nil {
		return p, err
	}
	p.compare(in.Cluster, request)
	p.compareAddress(in.Cluster, request)
	nodes = p.place(request, nodes)
	p.record(in.Cluster, request, nodes)
	p.addresses(request, in.Servers)
	p.preview(request, in.Servers)
	p.strangers(in.Cluster)
	return p, nil
}

// pin pins the host key that the server has shown.
func (p *Plan) pin(s Server) {
	if s.Answer.Key != nil {
		p.Pins = p.Pins.With(ssh.Pin{UID: s.Host.UID, Host: s.Host.Name, At: s.Answer.At, Key: s.Answer.Key})
	}
}

// compare names the parts of the spec that contradict the cluster, and that no run can change.
func (p *Plan) compare(c Cluster, r contract.Request) {
	pods, services := c.PodSubnet, c.ServiceSubnet
	if r.SetsVar("ipv6_stack") || r.SetsVar("enable_dual_stack_networks") { // then the IPv6 ranges are in variables too
		pods, _ = contract.Families(pods)
		services, _ = contract.Families(services)
	}
	for _, f := range []struct{ field, wants, has string }{
		{"spec.PodSubnet", r.PodSubnet, pods},
		{"spec.kubernetes.serviceSubnet", r.ServiceSubnet, services},
		{"spec.kubernetes.networkPlugin", r.NetworkPlugin, c.NetworkPlugin},
	} {
		if f.has != "" && f.has != f.wants {
			p.Problems = append(p.Problems, fmt.Sprintf("%s is %s, and the cluster has %s: correct it", f.field, f.wants, f.has))
		}
	}
}

// place gives the nodes the sets and the roles of the request. A node that the request does not have would be removed.
func (p *Plan) place(r contract.Request, nodes []contract.Node) []contract.Node {
	nodes = slices.Clone(nodes)
	for i := range nodes {
		n := &nodes[i]
		if j := slices.IndexFunc(r.Slots, func(s contract.Slot) bool { return s.Name == n.Name }); j >= 0 {
			if isPlane(r.Slots[j].Roles) == isPlane(n.Roles) {
				n.Roles = r.Slots[j].Roles
			}
			continue
		}
		j := slices.IndexFunc(r.Sets, func(s contract.Set) bool { return ofSet(n.Name, s.Name) })
		if j < 0 {
			p.Problems = append(p.Problems, fmt.Sprintf("the Provisioning does not have node %s, and BPA would remove it from the cluster: add it to the file", n.Name))
			continue
		}
		if n.Set = r.Sets[j].Name; isPlane(r.Sets[j].Roles) == isPlane(n.Roles) {
			n.Roles = r.Sets[j].Roles
		}
	}
	return nodes
}

// ofSet reports whether a node has a name that nodes of the set have.
func ofSet(node, set string) bool {
	number, found := strings.CutPrefix(node, set+"-")
	return found && number != "" && strings.Trim(number, "0123456789") == "" && number[0] != '0'
}

// record makes the record of the cluster. Its request is that of the Provisioning, with the nodes and the version that
// the cluster has. It thereby says that the nodes have the variables of the Provisioning: no server can show them, and
// otherwise BPA would drain and configure all nodes.
func (p *Plan) record(c Cluster, r contract.Request, nodes []contract.Node) {
	r.KubernetesVersion = c.Version
	r.Slots = slices.DeleteFunc(slices.Clone(r.Slots), func(s contract.Slot) bool {
		return !slices.ContainsFunc(nodes, func(n contract.Node) bool { return n.Set == "" && n.Name == s.Name })
	})
	r.Sets = slices.Clone(r.Sets)
	for i := range r.Sets {
		r.Sets[i].Active, r.Sets[i].Standby = 0, 0
		for _, n := range nodes {
			if n.Set == r.Sets[i].Name {
				r.Sets[i].Active++
			}
		}
	}
	p.Hosts = contract.HostStates{}
	highest := len(c.Members)
	for i, n := range nodes {
		if nodes[i].Version == c.Version {
			nodes[i].Version = ""
		}
		highest = max(highest, numberOf(n.Etcd))
		p.Hosts[n.HostUID] = contract.HostUsed
		n.Etcd, n.Version = "", ""
		p.Claimed = append(p.Claimed, n)
	}
	p.Record = contract.Installed{Request: r.Spec, Nodes: nodes, EtcdNext: highest + 1, Patched: r.Patched}
	if restored := p.Provisioning.Annotations[contract.AnnotationRestore]; restored != "" {
		p.Record.SetRestored(restored) // the manifest may be applied again, and must not restore the cluster again
	}
}

// addresses checks that BPA would reach each node at an address of the node: a run gives the nodes the addresses of their hosts.
func (p *Plan) addresses(r contract.Request, servers []Server) {
	for _, n := range p.Record.Nodes {
		i := slices.IndexFunc(servers, func(s Server) bool { return s.Host.UID == n.HostUID && s.Host.Name == n.Host })
		h := servers[i].Host
		mac := ""
		if j := slices.IndexFunc(r.Slots, func(s contract.Slot) bool { return s.Name == n.Name }); j >= 0 {
			mac = r.Slots[j].MAC
		}
		switch first, _, why := h.Addresses(mac, r.Access); {
		case why != "":
			p.Problems = append(p.Problems, fmt.Sprintf("host %s of node %s is %s, so that no run could reach it: %s", n.Host, n.Name, why, hosts.Remedy(r.Access, why)))
		case !overlap([]string{first.String()}, []string{n.Address, n.Address6}):
			p.Problems = append(p.Problems, fmt.Sprintf("node %s has the address %s, and BPA would reach its host %s at %s: select the addresses of the nodes with spec.access in the file", n.Name, n.Address, n.Host, first))
		}
	}
}

// preview finds out what BPA would do with the cluster.
func (p *Plan) preview(wanted contract.Request, servers []Server) {
	if len(p.Problems) > 0 || len(p.Record.Nodes) == 0 {
		return
	}
	state := change.State{Installed: p.Record, Wanted: wanted, Lost: map[string]bool{}, Domains: map[string]string{}, MACs: map[string][]string{}}
	for _, n := range p.Record.Nodes {
		state.MACs[n.Name] = n.MACs
	}
	for _, r := range change.Refused(state) {
		p.Problems = append(p.Problems, "the Provisioning does not describe the cluster: "+r.Text)
	}
	steps, _ := change.Preview(state)
	for _, s := range steps {
		p.Next = append(p.Next, s.String())
		if s.Request.Remove != nil || len(s.Replace) > 0 {
			p.Problems = append(p.Problems, fmt.Sprintf("BPA would %s: correct the file, and make this change later", s))
		}
		p.Pause = p.Pause || s.Request.Upgrade != nil
	}
}

// strangers notes members of etcd without a node.
func (p *Plan) strangers(c Cluster) {
	for _, m := range c.Members {
		if !slices.ContainsFunc(c.Nodes, func(n Node) bool { return isPlane(n.Roles) && m.at(n.Addresses) }) {
			p.Notes = append(p.Notes, fmt.Sprintf("etcd has a member %s (%s) that is at no control plane of the cluster", m.Name, strings.Join(m.PeerURLs, ", ")))
		}
	}
}

func isPlane(roles []string) bool { return slices.Contains(roles, contract.RoleControlPlane) }
