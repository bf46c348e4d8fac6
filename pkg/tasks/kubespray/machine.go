package kubespray

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// errWrongMachine reports that the machine at a node's address is not the node's host, or that it
// does not report enough to prove that it is.
var errWrongMachine = errors.New("another machine answers")

// machineScript prints the machine's host name, and a line "KIND NAME ADDRESS" for each network
// interface. KIND is card for hardware, usb for hardware on USB, and virtual for all others. A
// second line with KIND permanent has the factory address of a card, because a bond or an
// administrator can hide that address. The script changes nothing. It needs no root, and only a
// shell, uname and readlink; for cards of a team device it needs iproute2. It must not contain a
// single quote.
const machineScript = `PATH="$PATH:/usr/sbin:/sbin"; export LC_ALL=C
echo "name $(uname -n)"
for i in /sys/class/net/*; do
  read -r mac <"$i/address" || continue
  kind=virtual
  if [ -e "$i/device" ]; then kind=card; case "$(readlink "$i/device/subsystem")" in */usb) kind=usb; esac; fi
  echo "$kind ${i##*/} $mac"
  if read -r mac <"$i/bonding_slave/perm_hwaddr"; then echo "permanent ${i##*/} $mac"; fi
done 2>/dev/null
ip -o link 2>/dev/null | sed -n "s/^[0-9]*: \([^:@]*\)[:@].* permaddr \([0-9a-f:]*\).*/permanent \1 \2/p"`

// mostMachine bounds the output of machineScript in bytes. The limit is large enough for about
// 4,000 interfaces.
const mostMachine = 256 << 10

// identity describes the machine that answers at an address.
type identity struct {
	name string   // host name; empty if it is invalid
	macs []string // MAC addresses of its network cards, in the form of net.HardwareAddr
}

// checkMachine checks that the machine is the node's host: one of its network cards must have one
// of the host's MAC addresses. This check is necessary because an IP address that Metal3 saw long
// ago can belong to another machine now, which may accept the same SSH key. If no MAC address of
// the host is known, checkMachine returns a note instead of an error.
func checkMachine(ctx context.Context, in Input, n contract.Node, conn node.Connection) (note string, err error) {
	wanted := parseMACs(n.MACs)
	if len(wanted) == 0 {
		return "the identity of the machine is not checked: no MAC address of the host is known", nil
	}
	text, err := conn.Output(ctx, "sh -c '"+machineScript+"'", mostMachine)
	var exit *ssh.ExitError
	switch {
	case errors.Is(err, ssh.ErrUnreachable):
		return "", err
	case err != nil && !errors.As(err, &exit):
		return "", fmt.Errorf("%w, or the machine does not report its MAC addresses: %w; %s has %s", errWrongMachine, err, n.Host, listMACs(wanted))
	}
	found := parseMachine(text)
	if slices.ContainsFunc(found.macs, func(mac string) bool { return slices.Contains(wanted, mac) }) {
		return "", nil
	}
	return "", fmt.Errorf("%w: %s; %s has %s", errWrongMachine, found.describe(in, n), n.Host, listMACs(wanted))
}

// machineName matches host names that are safe to print.
var machineName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,62})$`)

// parseMachine parses the output of machineScript and ignores all other lines. It returns only the
// addresses of the most reliable kind of interface that the machine has. Cards are most reliable. A
// card on USB comes next, because a management controller's USB card can have the same address on
// all servers of a model. Virtual interfaces are last, because they can have any address; a machine
// in a container has no others.
func parseMachine(text []byte) identity {
	var found identity
	kind, address := map[string]string{}, map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) == 2 && fields[0] == "name" && machineName.MatchString(fields[1]):
			found.name = fields[1]
		case len(fields) != 3 || fields[0] == "permanent" && address[fields[1]] == "":
		default:
			if fields[0] != "permanent" {
				kind[fields[1]] = fields[0]
			}
			if mac, ok := parseMAC(fields[2]); ok {
				address[fields[1]] = mac
			}
		}
	}
	for _, best := range []string{"card", "usb", "virtual"} {
		for name, mac := range address {
			if kind[name] == best {
				found.macs = append(found.macs, mac)
			}
		}
		if len(found.macs) > 0 {
			break
		}
	}
	slices.Sort(found.macs)
	found.macs = slices.Compact(found.macs)
	return found
}

// describe describes a machine that is not the right one. If the machine is the host of another
// node, the text names that node.
func (m identity) describe(in Input, not contract.Node) string {
	name, addresses := m.name, "reports no MAC address"
	if name == "" {
		name = "a machine without a valid host name"
	}
	if len(m.macs) > 0 {
		addresses = "has " + listMACs(m.macs)
	}
	for _, n := range slices.Concat(in.Nodes, in.others) {
		if n.HostUID != not.HostUID && slices.ContainsFunc(parseMACs(n.MACs), func(mac string) bool { return slices.Contains(m.macs, mac) }) {
			return fmt.Sprintf("%s, which is host %s (node %s), %s", name, n.Host, n.Name, addresses)
		}
	}
	return name + " " + addresses
}

// parseMACs returns those of the addresses that can identify a machine, in the form of
// net.HardwareAddr.
func parseMACs(texts []string) (macs []string) {
	for _, text := range texts {
		if mac, ok := parseMAC(text); ok {
			macs = append(macs, mac)
		}
	}
	return macs
}

// parseMAC returns a MAC address in the form of net.HardwareAddr. It returns false for the all-zero
// address of a loopback interface and for a group address, because they do not identify a machine.
func parseMAC(text string) (string, bool) {
	mac, err := net.ParseMAC(text)
	if err != nil || len(mac) != 6 || mac[0]&1 != 0 || mac.String() == "00:00:00:00:00:00" {
		return "", false
	}
	return mac.String(), true
}

// listMACs joins at most the first three addresses, and adds the number of the others.
func listMACs(macs []string) string {
	const few = 3
	if over := len(macs) - few; over > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(macs[:few], ", "), over)
	}
	return strings.Join(macs, ", ")
}
