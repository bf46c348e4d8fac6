//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/test/lab/osimage"
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

// TestArtifactMissing checks that the condition names the artifacts that the depot lacks, before
// any host is claimed. When the spec changes to artifacts that the depot has, the Provisioning
// continues automatically.
func TestArtifactMissing(t *testing.T) {
	s := site.New(t, "e2e-artifact", 1, 0)
	p := s.Apply(oneMaster(s, "edge-6", site.Var("containerd_version", json.RawMessage(`"9.9.9"`)), withSystem(osimage.NodeSystem), withPackages("jq", "no-such-thing")))

	missing := site.Await(s, &v1alpha1.ProvisioningList{}, "the missing artifacts", 3*time.Minute, site.NotReady("ArtifactsMissing"))
	message := missing.Status.GetCondition(v1alpha1.ConditionArtifactsAvailable).GetMessage()
	for _, want := range []string{"containerd-9.9.9-linux-amd64.tar.gz", "no-such-thing:amd64", "2 of "} {
		if !strings.Contains(message, want) {
			t.Errorf("message %q does not contain %q", message, want)
		}
	}
	if held := s.Holders(); len(held) != 0 {
		t.Errorf("hosts are held although nothing can be installed: %v", held)
	}
	if f := missing.Status.Failure; f == nil || f.NextAttempt == nil {
		t.Errorf("failure %+v: want a next attempt, because somebody may add the artifacts to the depot", f)
	}

	s.Change(p, func(p *v1alpha1.Provisioning) {
		site.Var("containerd_version", site.Vars(t)["containerd_version"])(p)
		withPackages("jq")(p)
	})
	site.Await(s, &v1alpha1.ProvisioningList{}, "all artifacts in the depot, and the claimed host", 3*time.Minute, func(p *v1alpha1.Provisioning) bool {
		return p.Status.GetCondition(v1alpha1.ConditionArtifactsAvailable).IsTrue() && p.Status.GetCondition(v1alpha1.ConditionHostsClaimed).IsTrue()
	})
}
