package ssh

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// Pin is the SSH host key that a machine has shown at first contact. It belongs to the machine, not to its address: a machine that
// was replaced or provisioned anew has another UID.
type Pin struct {
	UID  string // of the BareMetalHost
	Host string // its name, for people
	At   string // address and port where it was last seen, as net.Dial takes it
	Key  HostKey
}

// Pins are pinned keys. As text they are a known_hosts file whose comments hold UID and host.
type Pins []Pin

// ParsePins reads what String writes. Lines by other hands, without a UID, are left out.
func ParsePins(text string) (Pins, error) {
	var pins Pins
	for rest := []byte(text); ; {
		_, hosts, key, comment, next, err := ssh.ParseKnownHosts(rest)
		if err == io.EOF {
			return pins, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read known_hosts: %w", err)
		}
		rest = next
		uid, host, _ := strings.Cut(comment, " ")
		if len(hosts) != 1 || uid == "" {
			continue
		}
		pins = append(pins, Pin{UID: uid, Host: host, At: address(hosts[0]), Key: key})
	}
}

// String is a known_hosts file for OpenSSH.
func (p Pins) String() string {
	var text strings.Builder
	for _, pin := range p {
		fmt.Fprintf(&text, "%s %s %s\n", knownhosts.Line([]string{pin.At}, pin.Key), pin.UID, pin.Host)
	}
	return text.String()
}

// Of is the key pinned to a machine, nil before first contact.
func (p Pins) Of(uid string) HostKey {
	for _, pin := range p {
		if pin.UID == uid {
			return pin.Key
		}
	}
	return nil
}

// With adds a pin and drops what it replaces: the machine's own at another address, and that of a machine which was there before.
func (p Pins) With(pin Pin) Pins {
	kept := slices.DeleteFunc(slices.Clone(p), func(old Pin) bool { return old.UID == pin.UID || old.At == pin.At })
	kept = append(kept, pin)
	slices.SortFunc(kept, func(a, b Pin) int { return strings.Compare(a.Host+a.UID, b.Host+b.UID) })
	return kept
}

// Only keeps the pins of the given machines.
func (p Pins) Only(uids ...string) Pins {
	return slices.DeleteFunc(slices.Clone(p), func(pin Pin) bool { return !slices.Contains(uids, pin.UID) })
}

// address undoes the way known_hosts writes addresses: port 22 is left out, others come as [address]:port.
func address(pattern string) string {
	if host, port, err := net.SplitHostPort(pattern); err == nil {
		return net.JoinHostPort(host, port)
	}
	return net.JoinHostPort(pattern, "22")
}
