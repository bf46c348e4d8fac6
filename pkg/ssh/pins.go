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

// Pin is the SSH host key that a machine had at first contact. A pin belongs to the machine and not
// to its address. A replacement of the machine is a new BareMetalHost with a new UID, so the pin does
// not apply to it. A machine that is provisioned again keeps its UID, but has a new key. The caller
// must then decide whether the pin still applies.
type Pin struct {
	UID  string // of the BareMetalHost
	Host string // name of the BareMetalHost, for users
	At   string // last known address and port, as net.Dial expects it
	Key  HostKey
}

// Pins are pinned keys. Their text form is a known_hosts file. Its comments hold the UID and the
// name of the host.
type Pins []Pin

// ParsePins parses the output of String. It ignores lines without a UID, which other programs
// wrote.
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

// String returns the pins as a known_hosts file for OpenSSH.
func (p Pins) String() string {
	var text strings.Builder
	for _, pin := range p {
		fmt.Fprintf(&text, "%s %s %s\n", knownhosts.Line([]string{pin.At}, pin.Key), pin.UID, pin.Host)
	}
	return text.String()
}

// Of returns the key that is pinned for a machine, or nil before first contact.
func (p Pins) Of(uid string) HostKey {
	for _, pin := range p {
		if pin.UID == uid {
			return pin.Key
		}
	}
	return nil
}

// With returns the pins with a new pin. The new pin replaces an older pin of the same machine and
// the pin of another machine at the same address.
func (p Pins) With(pin Pin) Pins {
	kept := slices.DeleteFunc(slices.Clone(p), func(old Pin) bool { return old.UID == pin.UID || old.At == pin.At })
	kept = append(kept, pin)
	slices.SortFunc(kept, func(a, b Pin) int { return strings.Compare(a.Host+a.UID, b.Host+b.UID) })
	return kept
}

// Only returns the pins of the given machines.
func (p Pins) Only(uids ...string) Pins {
	return slices.DeleteFunc(slices.Clone(p), func(pin Pin) bool { return !slices.Contains(uids, pin.UID) })
}

// address converts an address of known_hosts to address and port. In known_hosts, port 22 is
// omitted and other ports are written as [address]:port.
func address(pattern string) string {
	if host, port, err := net.SplitHostPort(pattern); err == nil {
		return net.JoinHostPort(host, port)
	}
	return net.JoinHostPort(pattern, "22")
}
