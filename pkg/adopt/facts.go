package adopt

import (
	"crypto/x509"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/survey"
)

// Server is a host with the answer of its server.
type Server struct {
	Host   hosts.Host
	Answer survey.Answer
}

// Cluster is what the cluster says of itself.
type Cluster struct {
	CA []*x509.Certificate // of the API server
	// Version is the Kubernetes version of the control plane, without a leading v. PodSubnet and ServiceSubnet are CIDRs.
	// DNSDomain is the domain of its services, and Name the name that kubeadm knows.
	Version, PodSubnet, ServiceSubnet, DNSDomain, Name string
	// NetworkPlugin is kubespray's name of the network plugin; empty: not recognized.
	NetworkPlugin string
	// Endpoint is the address and the port at which nodes find the API servers, such as 10.60.0.11:6443; empty: not known.
	Endpoint string
	Nodes    []Node
	Members  []Member // of etcd
}

// Node is a node of the cluster.
type Node struct {
	Name, Version string // of the kubelet, without a leading v
	Roles         []string
	Addresses     []string // internal IP addresses
	Created       time.Time
}

// Member is a member of etcd.
type Member struct {
	Name     string
	PeerURLs []string
}

// at reports whether the member is at one of the addresses.
func (m Member) at(addresses []string) bool {
	return slices.ContainsFunc(m.PeerURLs, func(peer string) bool {
		u, err := url.Parse(peer)
		return err == nil && overlap([]string{u.Hostname()}, addresses)
	})
}

// overlap reports whether two lists of IP addresses have one in common.
func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(x string) bool {
		one, err := netip.ParseAddr(x)
		return err == nil && slices.ContainsFunc(b, func(y string) bool {
			other, err := netip.ParseAddr(y)
			return err == nil && one.Unmap() == other.Unmap()
		})
	})
}

// addresses returns all addresses of a host that its objects have.
func addresses(h hosts.Host) (all []string) {
	for _, nic := range h.NICs {
		for _, ip := range nic.IPs {
			all = append(all, ip.String())
		}
	}
	for _, data := range h.NetworkData {
		all = append(all, data.IP.String())
	}
	return all
}

// Identity returns the identity of the cluster of this namespace and name: the UID in the marks of its servers. There
// must be exactly one.
func Identity(namespace, name string, servers []Server) (contract.User, error) {
	of := map[string][]string{}
	for _, s := range servers {
		if u := s.Answer.User; s.Answer.Err == nil && u.Namespace == namespace && u.Name == name && u.UID != "" {
			of[u.UID] = append(of[u.UID], s.Host.Name)
		}
	}
	switch len(of) {
	case 1:
		for uid := range of {
			return contract.User{Namespace: namespace, Name: name, UID: uid}, nil
		}
	case 0:
		return contract.User{}, fmt.Errorf("no server has the mark of a cluster %s/%s: check the name, the namespace and the login to the servers", namespace, name)
	}
	var parts []string
	for uid, hosts := range of {
		slices.Sort(hosts)
		parts = append(parts, uid+" on "+strings.Join(hosts, ", "))
	}
	slices.Sort(parts)
	return contract.User{}, fmt.Errorf("the servers have the marks of %d clusters of the name %s/%s: %s. Reset the servers of the one that is not to be kept, or name the hosts of the other",
		len(of), namespace, name, strings.Join(parts, "; "))
}

// Planes returns the servers of a cluster that say that they are control planes.
func Planes(user contract.User, servers []Server) []Server {
	return slices.DeleteFunc(slices.Clone(servers), func(s Server) bool {
		return s.Answer.Err != nil || s.Answer.User != user || !s.Answer.Member.ControlPlane || !proven(s)
	})
}

// proven reports whether the server is the host, as survey.Judge says.
func proven(s Server) bool {
	standing, _ := survey.Judge(survey.Expected{MACs: s.Host.MACs, Cluster: s.Answer.User}, s.Answer)
	return standing == survey.Agrees
}
