package session

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Errors of a visit or of the preparation of a node. Reason returns the failure reason of each.
var (
	// ErrOccupied reports that a Kubernetes of another owner is on a machine.
	ErrOccupied = errors.New("a Kubernetes that is not of this Provisioning is on the machine")
	// errNotInspected reports that a machine cannot be inspected.
	errNotInspected = errors.New("the machine cannot be inspected")
	// ErrNotMarked reports that a machine's owner cannot be written on the machine.
	ErrNotMarked = errors.New("the owner of its cluster cannot be written")
	// ErrNoTrust reports that the depot's certificate cannot be installed on a node.
	ErrNoTrust = errors.New("the depot's certificate cannot be installed")
	// ErrNoAddressOfServers reports that a control plane cannot get its part of the address that moves.
	ErrNoAddressOfServers = errors.New("the control plane cannot have the address of the API servers")
	// ErrNoState reports that a node cannot be prepared for another policy of the kubelet's managers.
	ErrNoState = errors.New("the kubelet cannot be prepared for another policy of its CPU manager")
	// ErrNoDepot reports that a node cannot reach the depot.
	ErrNoDepot = errors.New("it cannot reach the depot for OS packages")
	// ErrRefused reports that a node's apt refuses the depot's index: it is not signed with the depot's
	// key, or has expired, or the clock of the node is wrong.
	ErrRefused = errors.New("its apt refuses the index of the depot's OS packages")
	// ErrNoSource reports that the depot cannot be configured as a package source on a node.
	ErrNoSource = errors.New("the depot cannot be configured as its source of OS packages")
)

// Files that the task writes on nodes. They belong to BPA alone, so that the task never edits a file of a
// user.
const (
	// AptSource and AptConfig configure apt.
	AptSource = "/etc/apt/sources.list.d/bpa-depot.sources"
	AptConfig = "/etc/apt/apt.conf.d/90bpa-depot"
	// KubeletDropIn is a drop-in of kubelet.service that removes the kubelet's state of another policy. A reset
	// removes its folder.
	KubeletDropIn = "/etc/systemd/system/kubelet.service.d/10-bpa-manager-state.conf"
)

// Reason returns the failure reason of the error of a visit.
func Reason(err error) contract.Reason {
	switch {
	case errors.Is(err, errWrongMachine):
		return contract.ReasonWrongMachine
	case errors.Is(err, ErrOccupied):
		return contract.ReasonHostOccupied
	case errors.Is(err, errOtherSystem):
		return contract.ReasonInvalidRequest
	case errors.Is(err, errNotInspected):
		return contract.ReasonInternal
	case errors.Is(err, ErrNoTrust), errors.Is(err, ErrNoSource), errors.Is(err, ErrRefused), errors.Is(err, ErrNotMarked), errors.Is(err, ErrNoState), errors.Is(err, ErrNoAddressOfServers):
		return contract.ReasonPlaybookFailed
	case errors.Is(err, ErrNoDepot):
		return contract.ReasonDepotUnavailable
	}
	return node.Reason(err)
}

// rank orders errors by their failure reason. An error with a higher rank is more important to the
// user.
func rank(err error) int {
	return slices.Index([]contract.Reason{
		contract.ReasonHostUnreachable, contract.ReasonDepotUnavailable, contract.ReasonInternal, contract.ReasonPlaybookFailed,
		contract.ReasonSSHDenied, contract.ReasonInvalidRequest, contract.ReasonHostKeyChanged, contract.ReasonHostOccupied,
		contract.ReasonWrongMachine,
	}, Reason(err))
}

// Worst returns the error with the highest rank, and adds the names of the other nodes that failed.
// It returns nil if no node failed.
func Worst(in Input, visits []Visit) error {
	var bad []int
	for i := range visits {
		if visits[i].Err != nil {
			bad = append(bad, i)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	slices.SortStableFunc(bad, func(a, b int) int {
		return cmp.Compare(rank(visits[b].Err), rank(visits[a].Err))
	})
	first, others := bad[0], bad[1:]
	err, n := visits[first].Err, in.Nodes[first]
	message := fmt.Sprintf("%s at %s: %v. %s", n.Host, node.Target(in.Request, n).HostPort(), err, advice(in, n, err))
	names := make([]string, len(others))
	var same []string // failed for the same reason
	for i, other := range others {
		names[i] = in.Nodes[other].Name
		if Reason(visits[other].Err) == Reason(err) {
			same = append(same, names[i])
		}
	}
	if len(others) > 0 {
		message += fmt.Sprintf(" %s failed too: %s.", Count(len(others), "more node"), task.Cut(strings.Join(names, ", "), 200))
	}
	return &task.Error{Reason: Reason(err), Host: n.Name, Step: "connect by SSH", Err: errors.New(message), Others: same}
}

// advice tells the user what to do about the error of a node.
func advice(in Input, n contract.Node, err error) string {
	switch Reason(err) {
	case contract.ReasonWrongMachine:
		return "Nothing was changed. Correct the host's IP address at its source (the host's network data, or DHCP). " +
			"If this machine is the right one, correct spec.bootMACAddress of the BareMetalHost."
	case contract.ReasonHostOccupied:
		// The host is held by this Provisioning, and the reset accepts only free hosts. The text is
		// short, because task.FailureOf cuts the end of a long message.
		return fmt.Sprintf("Nothing was changed on any node. If that cluster is needed, use another host. If not, release the host and remove that cluster: "+
			`kubectl patch bmh %s -n %s --type=merge -p '{"spec":{"consumerRef":null}}', then kubectl bpa hosts reset %s -n %s --force.`,
			n.Host, in.Request.HostNamespace(), n.Host, in.Request.HostNamespace())
	case contract.ReasonInternal:
		return "Log in to the machine and find out why the command fails there."
	case contract.ReasonInvalidRequest:
		return "Use hosts with that system, or correct spec.operatingSystem."
	case contract.ReasonDepotUnavailable:
		return "Check that the depot is running and that the node can reach it. Its address is set in spec.depot.url, or in depot-url of ConfigMap config-bpa."
	case contract.ReasonHostKeyChanged:
		return fmt.Sprintf("If you reinstalled the machine, remove its line (it ends in %q) with: kubectl -n %s edit configmap %s. If not, find out which machine answers at this address.",
			n.Host, in.Request.Namespace, contract.KnownHostsName(in.Request.Provisioning))
	case contract.ReasonPlaybookFailed:
		if errors.Is(err, ErrNotMarked) {
			return "Make sure that user root can write to /etc/bpa on the nodes."
		}
		if errors.Is(err, ErrNoState) {
			return "Make sure that user root can write " + KubeletDropIn + " on the nodes, and that systemctl daemon-reload works there."
		}
		if errors.Is(err, ErrNoAddressOfServers) {
			return "Correct spec.kubernetes.api.address, or make sure that user root can write to /etc/bpa/keepalived and /etc/kubernetes/manifests on the control planes, and that they have the program ip."
		}
		if errors.Is(err, ErrNoSource) {
			return "Make sure that user root can write " + AptSource + " and " + AptConfig + " on the nodes."
		}
		if errors.Is(err, ErrRefused) {
			return "Compare the clocks of the node and of the depot. If they agree, the troubleshooting table of docs/depot.md has the messages of apt."
		}
		return "Make sure that the OS image of the nodes contains the package ca-certificates, which is needed to install the depot's certificate."
	case contract.ReasonSSHDenied:
		return "Add the public key that belongs to the private key in the SSH Secret to the host, or correct spec.ssh."
	}
	return "Check that the machine is on and that its SSH server runs."
}
