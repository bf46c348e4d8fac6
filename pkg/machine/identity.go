package machine

import (
	"bufio"
	"bytes"
	"net"
	"regexp"
	"slices"
	"strings"
)

// IdentityScript prints the machine's host name, and a line "KIND NAME ADDRESS" for each network
// interface. KIND is card for hardware, usb for hardware on USB, and virtual for all others. A
// second line with KIND permanent has the factory address of a card, because a bond or an
// administrator can hide that address. The script changes nothing. It needs no root, and only a
// shell, uname and readlink; for cards of a team device it needs iproute2. It must not contain a
// single quote.
const IdentityScript = `PATH="$PATH:/usr/sbin:/sbin"; export LC_ALL=C
echo "name $(uname -n)"
for i in /sys/class/net/*; do
  read -r mac <"$i/address" || continue
  kind=virtual
  if [ -e "$i/device" ]; then kind=card; case "$(readlink "$i/device/subsystem")" in */usb) kind=usb; esac; fi
  echo "$kind ${i##*/} $mac"
  if read -r mac <"$i/bonding_slave/perm_hwaddr"; then echo "permanent ${i##*/} $mac"; fi
done 2>/dev/null
ip -o link 2>/dev/null | sed -n "s/^[0-9]*: \([^:@]*\)[:@].* permaddr \([0-9a-f:]*\).*/permanent \1 \2/p"`

// MostIdentity bounds the output of IdentityScript in bytes. The limit is large enough for about
// 4,000 interfaces.
const MostIdentity = 256 << 10

// Identity describes the machine that answers at an address.
type Identity struct {
	Name string   // host name; empty if it is invalid
	MACs []string // MAC addresses of its network cards, in the form of net.HardwareAddr
}

// machineName matches host names that are safe to print.
var machineName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,62})$`)

// ParseIdentity parses the output of IdentityScript and ignores all other lines. It returns only the
// addresses of the most reliable kind of interface that the machine has. Cards are most reliable. A
// card on USB comes next, because a management controller's USB card can have the same address on
// all servers of a model. Virtual interfaces are last, because they can have any address; a machine
// in a container has no others.
func ParseIdentity(text []byte) Identity {
	var found Identity
	kind, address := map[string]string{}, map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) == 2 && fields[0] == "name" && machineName.MatchString(fields[1]):
			found.Name = fields[1]
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
				found.MACs = append(found.MACs, mac)
			}
		}
		if len(found.MACs) > 0 {
			break
		}
	}
	slices.Sort(found.MACs)
	found.MACs = slices.Compact(found.MACs)
	return found
}

// MACs returns those of the addresses that can identify a machine, in the form of
// net.HardwareAddr.
func MACs(texts []string) (macs []string) {
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
