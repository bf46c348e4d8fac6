package adopt

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/survey"
)

// Standing is the result of comparing a server with the cluster.
type Standing string

const (
	// Agrees means that the server is a node of the cluster.
	Agrees Standing = "agrees"
	// Other means that the server has another cluster, Free that it has none.
	Other Standing = "other"
	Free  Standing = "free"
	// Silent means that no address of the host answers.
	Silent Standing = "silent"
	// Disagrees means that something contradicts that the server is a node of the cluster, or that nothing proves it.
	Disagrees Standing = "disagrees"
)

// Row is a host with the result. Node is the name of its node, empty unless the host becomes that of a node.
type Row struct {
	Host     string
	Standing Standing
	Node     string
	Why      string // contains text of the server
}

// judge compares a server with the cluster of the user.
func judge(user contract.User, owner hosts.Owner, c Cluster, s Server) Row {
	r := Row{Host: s.Host.Name}
	r.Standing, r.Why = ofMark(user, s)
	if r.Standing != Agrees {
		return r
	}
	if why := unusable(owner, s.Host); why != "" {
		r.Standing, r.Why = Disagrees, why
		return r
	}
	if r.Node, r.Why = nodeOf(c, s); r.Node == "" {
		r.Standing = Disagrees
	}
	return r
}

// ofMark compares the mark of a server.
func ofMark(user contract.User, s Server) (Standing, string) {
	a := s.Answer
	standing, why := survey.Judge(survey.Expected{MACs: s.Host.MACs, Cluster: user, Member: true}, a)
	switch {
	case standing == survey.Silent:
		return Silent, why
	case standing == survey.Unknown:
		return Disagrees, why
	case standing == survey.Agrees:
		return Agrees, ""
	case a.User == contract.User{}:
		return Free, "no cluster is on it"
	case a.User.Cluster() != user.Cluster():
		return Other, "it has the cluster " + a.User.Cluster()
	case a.User.UID != user.UID:
		return Other, "it has an earlier or a later cluster of this name: " + a.User.UID
	}
	return Disagrees, why
}

// unusable returns why a host cannot be the host of a node, whatever its server says.
func unusable(owner hosts.Owner, h hosts.Host) string {
	switch {
	case h.Holder != nil && !owner.Holds(h):
		return "its BareMetalHost is held by " + h.Holder.String()
	case h.Bare:
		return "Metal3 counts it as a host without an operating system and may write an image to it: set spec.externallyProvisioned of the BareMetalHost to true"
	case h.Lost && !h.Quarantined:
		return "its BareMetalHost is " + h.Unusable
	}
	return ""
}

// nodeOf returns the node of the cluster that the server is; empty: none, because of why.
func nodeOf(c Cluster, s Server) (name, why string) {
	m := s.Answer.Member
	switch known := func(ca *x509.Certificate) bool { return slices.ContainsFunc(c.CA, ca.Equal) }; {
	case len(m.CA) == 0:
		return "", "it has the mark of the cluster, but no CA of a cluster"
	case !slices.ContainsFunc(m.CA, known):
		return "", "its Kubernetes has another CA than the API server of the cluster"
	}
	by := "by the certificate of its kubelet"
	name = m.Node()
	if name == "" {
		by = "by its address"
		i := slices.IndexFunc(c.Nodes, func(n Node) bool { return overlap(n.Addresses, []string{s.Answer.Address}) })
		if i < 0 {
			return "", "its kubelet has no certificate, and no node of the cluster has its address " + s.Answer.Address
		}
		name = c.Nodes[i].Name
	}
	if !slices.ContainsFunc(c.Nodes, func(n Node) bool { return n.Name == name }) {
		return "", fmt.Sprintf("its kubelet is that of node %s, which the cluster does not have: it has left, or its reset was interrupted", name)
	}
	return name, "node " + name + ", " + by
}

// rows judges all servers. Two servers of one node disagree, because one of them is wrong. With silent, a host that does
// not answer and has an address of a node without another host becomes the host of this node.
func rows(user contract.User, owner hosts.Owner, c Cluster, servers []Server, silent bool) (all []Row, problems []string) {
	count := map[string][]string{}
	for _, s := range servers {
		r := judge(user, owner, c, s)
		all = append(all, r)
		if r.Node != "" {
			count[r.Node] = append(count[r.Node], r.Host)
		}
	}
	for i, r := range all {
		if same := count[r.Node]; r.Node != "" && len(same) > 1 {
			all[i].Standing, all[i].Node, all[i].Why = Disagrees, "", fmt.Sprintf("%s say that they are node %s", strings.Join(same, " and "), r.Node)
		}
	}
	for _, n := range c.Nodes {
		if len(count[n.Name]) == 1 {
			continue
		}
		i := slices.IndexFunc(servers, func(s Server) bool { return overlap(addresses(s.Host), n.Addresses) })
		at := strings.Join(n.Addresses, ", ")
		switch {
		case len(count[n.Name]) > 1:
			problems = append(problems, fmt.Sprintf("node %s: %s. Switch off and reset the wrong machine, or correct its BareMetalHost", n.Name, "both "+strings.Join(count[n.Name], " and ")+" have it"))
		case i < 0:
			problems = append(problems, fmt.Sprintf("node %s (%s) of the cluster has no host: register its BareMetalHost, or remove the node from the cluster first", n.Name, at))
		case all[i].Standing != Silent:
			problems = append(problems, fmt.Sprintf("node %s (%s) of the cluster: host %s has its address, and its server %s (%s). Repair it, or remove the node from the cluster first", n.Name, at, all[i].Host, verb(all[i].Standing), all[i].Why))
		case unusable(owner, servers[i].Host) != "" || held(user, servers[i].Host):
			problems = append(problems, fmt.Sprintf("node %s (%s) of the cluster: host %s is silent and cannot be claimed: %s", n.Name, at, all[i].Host, orMark(unusable(owner, servers[i].Host), servers[i].Host)))
		case !silent:
			problems = append(problems, fmt.Sprintf("node %s (%s) of the cluster: host %s, which has its address, is silent. Switch it on, or claim it unseen with --silent", n.Name, at, all[i].Host))
		default:
			all[i].Node, all[i].Why = n.Name, "node "+n.Name+", by an address of its BareMetalHost, unseen"
		}
	}
	return all, problems
}

// held reports whether the annotation of a host says that another cluster is on it.
func held(user contract.User, h hosts.Host) bool {
	return h.UsedBy != contract.User{} && h.UsedBy != user
}

func orMark(why string, h hosts.Host) string {
	if why == "" {
		return "its annotation says that it has the cluster " + h.UsedBy.Cluster()
	}
	return why
}

func verb(s Standing) string {
	switch s {
	case Free:
		return "has no cluster"
	case Other:
		return "has another cluster"
	}
	return string(s)
}
