package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// errWrongMachine reports that the machine at a node's address is not the node's host, or that it
// does not report enough to prove that it is.
var errWrongMachine = errors.New("another machine answers")

// checkMachine checks that the machine is the node's host: one of its network cards must have one
// of the host's MAC addresses. This check is necessary because an IP address that Metal3 saw long
// ago can belong to another machine now, which may accept the same SSH key. If no MAC address of
// the host is known, checkMachine returns a note instead of an error.
func checkMachine(ctx context.Context, in Input, n contract.Node, conn node.Connection) (note string, err error) {
	wanted := machine.MACs(n.MACs)
	if len(wanted) == 0 {
		return "the identity of the machine is not checked: no MAC address of the host is known", nil
	}
	text, err := conn.Output(ctx, "sh -c '"+machine.IdentityScript+"'", machine.MostIdentity)
	var exit *ssh.ExitError
	switch {
	case errors.Is(err, ssh.ErrUnreachable):
		return "", err
	case err != nil && !errors.As(err, &exit):
		return "", fmt.Errorf("%w, or the machine does not report its MAC addresses: %w; %s has %s", errWrongMachine, err, n.Host, listMACs(wanted))
	}
	found := identity(machine.ParseIdentity(text))
	if slices.ContainsFunc(found.MACs, func(mac string) bool { return slices.Contains(wanted, mac) }) {
		return "", nil
	}
	return "", fmt.Errorf("%w: %s; %s has %s", errWrongMachine, found.describe(in, n), n.Host, listMACs(wanted))
}

// identity describes the machine that answers at an address.
type identity machine.Identity

// describe describes a machine that is not the right one. If the machine is the host of another
// node, the text names that node.
func (m identity) describe(in Input, not contract.Node) string {
	name, addresses := m.Name, "reports no MAC address"
	if name == "" {
		name = "a machine without a valid host name"
	}
	if len(m.MACs) > 0 {
		addresses = "has " + listMACs(m.MACs)
	}
	for _, n := range slices.Concat(in.Nodes, in.others) {
		if n.HostUID != not.HostUID && slices.ContainsFunc(machine.MACs(n.MACs), func(mac string) bool { return slices.Contains(m.MACs, mac) }) {
			return fmt.Sprintf("%s, which is host %s (node %s), %s", name, n.Host, n.Name, addresses)
		}
	}
	return name + " " + addresses
}

// listMACs joins at most the first three addresses, and adds the number of the others.
func listMACs(macs []string) string {
	const few = 3
	if over := len(macs) - few; over > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(macs[:few], ", "), over)
	}
	return strings.Join(macs, ", ")
}
