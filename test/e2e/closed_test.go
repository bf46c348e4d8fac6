//go:build e2e

package e2e

import (
	"encoding/json"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/test/site"
)

// checkClosed proves that a lab machine reaches nothing beyond the machine's own network: what it sends outside is counted by the rule that
// drops it. 192.0.2.1 is nobody's address (RFC 5737).
func checkClosed(t *testing.T, s *site.Site, host string) {
	t.Helper()
	before := dropped(t)
	out := s.On(host, "timeout 2 bash -c 'exec 3<>/dev/tcp/192.0.2.1/443' 2>&1 && echo connected || echo refused")
	if !strings.Contains(out, "refused") {
		t.Errorf("%s reached an address outside: %s", host, out)
	}
	if after := dropped(t); after <= before {
		t.Errorf("the rule that keeps machines inside dropped %d packets before a connection outside and %d after: it does not see them", before, after)
	}
}

// dropped counts the packets from lab machines and pods that did not leave this machine.
func dropped(t *testing.T) int {
	t.Helper()
	out, err := exec.Command("iptables", "-w", "-t", "mangle", "-nvxL", "POSTROUTING").Output()
	if err != nil {
		t.Fatalf("read the machine's firewall: %v", err)
	}
	packets, rules := 0, 0
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) < 8 || fields[2] != "DROP" {
			continue
		}
		n, err := strconv.Atoi(fields[0])
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		packets, rules = packets+n, rules+1
	}
	if rules == 0 {
		t.Fatalf("no rule keeps lab machines inside:\n%s", out)
	}
	return packets
}

// TestArtifactMissing: what the depot lacks is named, with the command that brings it, before any host is claimed; a spec that wants what is
// there goes on by itself.
func TestArtifactMissing(t *testing.T) {
	s := site.New(t, "e2e-artifact", 1, 0)
	p := s.Apply(oneMaster(s, "edge-6", site.Var("containerd_version", json.RawMessage(`"9.9.9"`))))

	missing := site.Await(s, &v1alpha1.ProvisioningList{}, "what is missing", 3*time.Minute, site.NotReady("ArtifactsMissing"))
	message := missing.Status.GetCondition(v1alpha1.ConditionArtifactsAvailable).GetMessage()
	for _, want := range []string{"containerd-9.9.9-linux-amd64.tar.gz", "1 of "} {
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

	s.Change(p, func(p *v1alpha1.Provisioning) { site.Var("containerd_version", site.Vars(t)["containerd_version"])(p) })
	site.Await(s, &v1alpha1.ProvisioningList{}, "the depot to have all, and the host", 3*time.Minute, func(p *v1alpha1.Provisioning) bool {
		return p.Status.GetCondition(v1alpha1.ConditionArtifactsAvailable).IsTrue() && p.Status.GetCondition(v1alpha1.ConditionHostsClaimed).IsTrue()
	})
}
