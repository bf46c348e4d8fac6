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

// closedRule drops what a machine sends beyond the networks of the lab and of its clusters.
const closedRule = "OUTPUT -o eth0 ! -d 10.0.0.0/8 -j DROP"

// closeOff gives a machine that rule, and proves by its counter that it bites, and by the depot that it does not bite too much.
// 203.0.113.1 is nobody's address (RFC 5737).
func closeOff(t *testing.T, s *site.Site, host string) {
	t.Helper()
	const try = "timeout 2 bash -c 'exec 3<>/dev/tcp/%s' 2>/dev/null && echo connected || echo refused"
	s.On(host, "iptables -w -t mangle -I "+closedRule)
	before := dropped(t, s, host)
	if out := s.On(host, fmt.Sprintf(try, "203.0.113.1/443")); !strings.Contains(out, "refused") {
		t.Errorf("%s reached an address outside: %s", host, out)
	}
	if after := dropped(t, s, host); after <= before {
		t.Errorf("the rule of %s counts %d packets before a connection outside and %d after: it does not see them", host, before, after)
	}
	if out := s.On(host, fmt.Sprintf(try, "10.60.0.1/5443")); !strings.Contains(out, "connected") {
		t.Errorf("%s does not reach the depot: %s", host, out)
	}
}

// stayedClosed wants the rule in force still, and tells how much it has dropped.
func stayedClosed(t *testing.T, s *site.Site, host string) {
	t.Helper()
	s.On(host, "iptables -w -t mangle -C "+closedRule)
	t.Logf("%s: %d packets to addresses outside were dropped", host, dropped(t, s, host))
}

// dropped is the rule's counter.
func dropped(t *testing.T, s *site.Site, host string) int { return counted(t, s, host, "!10.0.0.0/8") }

// counted is how many packets a machine's rule for a destination has dropped.
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

// TestArtifactMissing: what the depot lacks is named, with the command that brings it, before any host is claimed; a spec that wants what is
// there goes on by itself.
func TestArtifactMissing(t *testing.T) {
	s := site.New(t, "e2e-artifact", 1, 0)
	p := s.Apply(oneMaster(s, "edge-6", site.Var("containerd_version", json.RawMessage(`"9.9.9"`)), runs(osimage.NodeSystem), wants("jq", "no-such-thing")))

	missing := site.Await(s, &v1alpha1.ProvisioningList{}, "what is missing", 3*time.Minute, site.NotReady("ArtifactsMissing"))
	message := missing.Status.GetCondition(v1alpha1.ConditionArtifactsAvailable).GetMessage()
	for _, want := range []string{"containerd-9.9.9-linux-amd64.tar.gz", "no-such-thing:amd64", "2 of "} {
		if !strings.Contains(message, want) {
			t.Errorf("message %q does not tell of %q", message, want)
		}
	}
	if held := s.Holders(); len(held) != 0 {
		t.Errorf("hosts are held although nothing can be installed: %v", held)
	}
	if f := missing.Status.Failure; f == nil || f.NextAttempt == nil {
		t.Errorf("failure %+v: want a next attempt, for the depot may get it", f)
	}

	s.Change(p, func(p *v1alpha1.Provisioning) {
		site.Var("containerd_version", site.Vars(t)["containerd_version"])(p)
		wants("jq")(p)
	})
	site.Await(s, &v1alpha1.ProvisioningList{}, "the depot to have all, and the host", 3*time.Minute, func(p *v1alpha1.Provisioning) bool {
		return p.Status.GetCondition(v1alpha1.ConditionArtifactsAvailable).IsTrue() && p.Status.GetCondition(v1alpha1.ConditionHostsClaimed).IsTrue()
	})
}
