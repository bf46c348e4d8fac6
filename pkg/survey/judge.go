package survey

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine"
	"github.com/akraino-icn/bpa/pkg/ssh"
)

// Standing is the result of comparing a server with the objects.
type Standing string

const (
	// Agrees means that the server is the host and that its content is what the objects say.
	Agrees Standing = "agrees"
	// Newer means that the server is the host, and that BPA has changed it since the objects were stored.
	Newer Standing = "newer"
	// Unknown means that another machine answers, or that nothing proves which machine it is or whose cluster it has.
	Unknown Standing = "unknown"
	// Silent means that no address of the host answers.
	Silent Standing = "silent"
)

// Expected is what the objects say about a host.
type Expected struct {
	// MACs are the hardware addresses of the host. Pinned reports that its SSH host key is known: a server that answers
	// has it.
	MACs   []string
	Pinned bool
	// Cluster is the cluster that is or may be on the host. Zero: none. Member reports that the record of the cluster
	// has the host as a node.
	Cluster contract.User
	Member  bool
	// Holder is the consumer of the host if it is not a Provisioning, such as "Metal3Machine m"; empty: there is none.
	Holder string
}

// Answer is what a server says.
type Answer struct {
	// Err is why there is no other answer. nil: the server has answered.
	Err error
	// At is the address and port that has answered, and Key the SSH host key of the server there.
	At  string
	Key ssh.HostKey
	// Address is the IP address in At, and Login the login that the server has accepted.
	Address string
	Login   Login
	// Identity is the name of the machine with its hardware addresses.
	Identity machine.Identity
	// User is the mark of BPA on the machine; zero: none. Kubernetes is the evidence of a Kubernetes of any kind.
	User       contract.User
	Kubernetes []string
	// Member is the membership of the machine in a cluster, if Server.Member asks for it.
	Member machine.Membership
}

// ErrNoAddress reports that no address of a host is known.
var ErrNoAddress = errors.New("no address of the host is known")

// Judge compares an answer with what the objects say. why completes the row of a table. It contains text of the server,
// with which a terminal must not be trusted.
func Judge(e Expected, a Answer) (s Standing, why string) {
	if a.Err != nil {
		if errors.Is(a.Err, ErrNoAddress) || errors.Is(a.Err, ssh.ErrUnreachable) {
			return Silent, a.Err.Error()
		}
		return Unknown, a.Err.Error()
	}
	if why := unproven(e, a); why != "" {
		return Unknown, why
	}
	switch {
	case a.User == contract.User{} && len(a.Kubernetes) > 0:
		return Unknown, "it has a Kubernetes that does not say whose it is: " + some(a.Kubernetes)
	case a.User == contract.User{} && e.Cluster != contract.User{}:
		return Newer, fmt.Sprintf("the cluster %s is not on it any more", e.Cluster.Cluster())
	case a.User == contract.User{} && e.Holder != "":
		return Unknown, fmt.Sprintf("it is held by %s, whose content BPA does not know", e.Holder)
	case a.User == contract.User{}:
		return Agrees, "no cluster is on it"
	case e.Cluster == contract.User{}:
		return Newer, fmt.Sprintf("it has the cluster %s; the objects have none on it", named(a.User))
	case a.User.UID == "" || a.User.UID != e.Cluster.UID || a.User.Cluster() != e.Cluster.Cluster():
		return Newer, fmt.Sprintf("it has the cluster %s; the objects have %s on it", named(a.User), named(e.Cluster))
	case e.Member && len(a.Kubernetes) == 0:
		return Newer, fmt.Sprintf("the Kubernetes of the cluster %s is not on it any more", e.Cluster.Cluster())
	}
	return Agrees, fmt.Sprintf("it has the cluster %s", e.Cluster.Cluster())
}

// unproven explains why nothing proves that a server is the host; empty: it is the host.
func unproven(e Expected, a Answer) string {
	known := machine.MACs(e.MACs)
	switch {
	case len(known) == 0 && e.Pinned:
		return ""
	case len(known) == 0:
		return "neither a MAC address nor the SSH host key of the host is known"
	case slices.ContainsFunc(a.Identity.MACs, func(mac string) bool { return slices.Contains(known, mac) }):
		return ""
	}
	return fmt.Sprintf("another machine answers at %s: %s has %s, the host has %s", a.At, orUnnamed(a.Identity.Name), orNone(a.Identity.MACs), some(known))
}

func named(u contract.User) string { return u.Cluster() + " (" + orUnnamed(u.UID) + ")" }

func orUnnamed(text string) string {
	if text == "" {
		return "no name"
	}
	return text
}

func orNone(macs []string) string {
	if len(macs) == 0 {
		return "no MAC address"
	}
	return some(macs)
}

// some joins the first items of a list.
func some(items []string) string {
	const few = 2
	if over := len(items) - few; over > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(items[:few], ", "), over)
	}
	return strings.Join(items, ", ")
}
