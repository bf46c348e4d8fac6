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

// errWrongMachine: the machine at a node's address is not the node's host, or does not show that it is.
var errWrongMachine = errors.New("another machine answers")

// machineScript prints the machine's name, and for each network interface a line "KIND NAME ADDRESS". KIND is card for hardware, usb for hardware on USB,
// virtual for the rest, and permanent for the address that was burnt into the card, which a bond or an administrator can hide. It changes nothing,
// and needs neither root nor more than a shell, uname and readlink; a team's cards need iproute2. There is no single quote in it.
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

// mostMachine bounds in bytes what a machine may say of itself: some 4,000 interfaces.
const mostMachine = 256 << 10

// machine is what answers at an address.
type machine struct {
	name string   // its host name, empty if it has no proper one
	macs []string // of its network cards, as net.HardwareAddr writes them
}

// checkMachine makes sure that the machine is the node's host: one of its network cards must have one of the host's MAC addresses. An address that Metal3 saw
// long ago can be another machine's by now, and a key that is the same on the whole site lets us in there. The note says if it cannot be checked.
func checkMachine(ctx context.Context, in Input, n contract.Node, conn node.Connection) (note string, err error) {
	wanted := parseMACs(n.MACs)
	if len(wanted) == 0 {
		return "whether it is the right machine is not checked: no MAC address of the host is known", nil
	}
	text, err := conn.Output(ctx, "sh -c '"+machineScript+"'", mostMachine)
	var exit *ssh.ExitError
	switch {
	case errors.Is(err, ssh.ErrUnreachable):
		return "", err
	case err != nil && !errors.As(err, &exit):
		return "", fmt.Errorf("%w, or one that does not show what it is: %w; %s has %s", errWrongMachine, err, n.Host, listMACs(wanted))
	}
	found := parseMachine(text)
	if slices.ContainsFunc(found.macs, func(mac string) bool { return slices.Contains(wanted, mac) }) {
		return "", nil
	}
	return "", fmt.Errorf("%w: %s; %s has %s", errWrongMachine, found.describe(in, n), n.Host, listMACs(wanted))
}

// machineName is a host name that can be shown.
var machineName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,62})$`)

// parseMachine reads what machineScript prints, and passes over what it does not print. Of the interfaces only the most trustworthy kind counts: a
// virtual one can have any address, and so can a management controller's card on USB, which is the same on all servers of some models. A machine
// in a container has virtual ones alone.
func parseMachine(text []byte) machine {
	var found machine
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

// describe names a machine that is not the node's host, and the node that it is, if it is one.
func (m machine) describe(in Input, not contract.Node) string {
	name, addresses := m.name, "shows no MAC address"
	if name == "" {
		name = "a machine without a proper host name"
	}
	if len(m.macs) > 0 {
		addresses = "has " + listMACs(m.macs)
	}
	for _, n := range in.Nodes {
		if n.HostUID != not.HostUID && slices.ContainsFunc(parseMACs(n.MACs), func(mac string) bool { return slices.Contains(m.macs, mac) }) {
			return fmt.Sprintf("%s, which is host %s (node %s), %s", name, n.Host, n.Name, addresses)
		}
	}
	return name + " " + addresses
}

// parseMACs are the addresses that tell machines apart.
func parseMACs(texts []string) (macs []string) {
	for _, text := range texts {
		if mac, ok := parseMAC(text); ok {
			macs = append(macs, mac)
		}
	}
	return macs
}

// parseMAC writes a MAC address of any machine's own in one form. That of a loopback interface, all zero, is none, nor is a group's.
func parseMAC(text string) (string, bool) {
	mac, err := net.ParseMAC(text)
	if err != nil || len(mac) != 6 || mac[0]&1 != 0 || mac.String() == "00:00:00:00:00:00" {
		return "", false
	}
	return mac.String(), true
}

// listMACs shows the first few.
func listMACs(macs []string) string {
	const few = 3
	if over := len(macs) - few; over > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(macs[:few], ", "), over)
	}
	return strings.Join(macs, ", ")
}
