//go:build e2e

package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/test/site"
)

// isolationRule drops packets of a machine to addresses outside the networks of the lab and of its
// clusters.
const isolationRule = "OUTPUT -o eth0 ! -d 10.0.0.0/8 -j DROP"

// isolate adds isolationRule to a machine. It checks that the rule counts a connection to an
// address outside, and that the machine can still reach the depot. 203.0.113.1 is an address for
// documentation (RFC 5737), which no machine has.
func isolate(t *testing.T, s *site.Site, host string) {
	t.Helper()
	const try = "timeout 2 bash -c 'exec 3<>/dev/tcp/%s' 2>/dev/null && echo connected || echo refused"
	s.On(host, "iptables -w -t mangle -I "+isolationRule)
	before := dropped(t, s, host)
	if out := s.On(host, fmt.Sprintf(try, "203.0.113.1/443")); !strings.Contains(out, "refused") {
		t.Errorf("%s reached an address outside: %s", host, out)
	}
	if after := dropped(t, s, host); after <= before {
		t.Errorf("%s: the rule counts %d packets before a connection to an address outside, and %d after: it does not match them", host, before, after)
	}
	if out := s.On(host, fmt.Sprintf(try, "10.60.0.1/5443")); !strings.Contains(out, "connected") {
		t.Errorf("%s does not reach the depot: %s", host, out)
	}
}

// checkIsolated checks that isolationRule is still in force, and logs how many packets it has
// dropped.
func checkIsolated(t *testing.T, s *site.Site, host string) {
	t.Helper()
	s.On(host, "iptables -w -t mangle -C "+isolationRule)
	t.Logf("%s: %d packets to addresses outside were dropped", host, dropped(t, s, host))
}

// dropped returns the packet counter of isolationRule.
func dropped(t *testing.T, s *site.Site, host string) int { return counted(t, s, host, "!10.0.0.0/8") }

// counted returns the number of packets that a machine's rule for a destination has dropped.
func counted(t *testing.T, s *site.Site, host, destination string) int {
	t.Helper()
	out := s.On(host, "iptables -w -t mangle -nvxL OUTPUT")
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); len(fields) > 8 && fields[2] == "DROP" && fields[8] == destination {
			n, err := strconv.Atoi(fields[0])
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			return n
		}
	}
	t.Fatalf("%s has no rule for %s:\n%s", host, destination, out)
	return 0
}
