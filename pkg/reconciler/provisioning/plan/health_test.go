package plan

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/health"
)

// TestHealthDecidesNothing: in any world without Softwares, the step does not depend on what the looks have shown. The
// status does, and reporting it again changes nothing. A silent API server is never the reason of a
// False.
func TestHealthDecidesNothing(t *testing.T) {
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	shown := map[string]int{}
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 7))
		s := randomWorld(r, now)
		s.Software, s.Health = Softwares{}, nil
		want := Next(s, now)
		s.Health = randomHealth(r, s, now)
		step := Next(s, now)
		if diff := cmp.Diff(want, step); diff != "" {
			t.Fatalf("seed %d: health changes the step (-without +with):\n%s", seed, diff)
		}
		p := &v1alpha1.Provisioning{}
		Report(p, s, step, nil, nil, now)
		c := p.Status.GetCondition(v1alpha1.ConditionClusterHealthy)
		shown[string(c.Status)+" "+c.Reason]++
		if s.Health != nil && s.Health.API == health.APISilent && c.IsFalse() {
			t.Fatalf("seed %d: a silent API server is reported as %s: %s", seed, c.Reason, c.Message)
		}
		if ready := p.Status.GetCondition(v1alpha1.ConditionReady); ready.IsTrue() && (c.IsFalse() || c.Reason == v1alpha1.ReasonAPIUnavailable || c.Reason == v1alpha1.ReasonAccessDenied || c.Reason == reasonLooksStopped) {
			t.Fatalf("seed %d: Ready with %s", seed, c.Message)
		}
		again := p.DeepCopy()
		Report(again, s, step, nil, nil, now.Add(time.Minute))
		unknown := s
		unknown.Health = nil // after a restart of the controller
		restarted := p.DeepCopy()
		Report(restarted, unknown, step, nil, nil, now.Add(time.Minute))
		for what, other := range map[string]*v1alpha1.Provisioning{"the same": again, "a restart": restarted} {
			if diff := cmp.Diff(healthIn(p), healthIn(other)); diff != "" && (what == "the same" || s.Health == nil || s.Health.Unchecked == "") {
				t.Fatalf("seed %d: %s changes the status (-before +after):\n%s", seed, what, diff)
			}
		}
	}
	for _, want := range []string{"True NodesReady", "False NodesNotReady", "Unknown APIUnavailable", "Unknown NotChecked", "Unknown AccessDenied", "Unknown Waiting", "Unknown Deleting"} {
		if shown[want] < 100 {
			t.Errorf("%s was shown only %d times: %v", want, shown[want], shown)
		}
	}
}

// healthIn returns what a status says about the health of the cluster.
func healthIn(p *v1alpha1.Provisioning) []any {
	c := p.Status.GetCondition(v1alpha1.ConditionClusterHealthy)
	return []any{c.Status, c.Reason, c.Message, p.Status.Nodes, p.Status.APICertificateExpires}
}

func randomHealth(r *rand.Rand, s Seen, now time.Time) *Health {
	h := &Health{Report: health.Report{API: pick(r, health.APIAnswers, health.APIAnswers, health.APISilent), Since: now, Text: "connection refused", Nodes: map[string]health.NodeReport{}}}
	switch r.IntN(6) {
	case 0:
		return nil
	case 1:
		h.API, h.Unchecked = health.APIUnknown, "there are no credentials"
		h.Denied = r.IntN(3) == 0
	}
	for _, n := range s.members() {
		state := pick(r, health.NodeReady, health.NodeReady, health.NodeReady, health.NodeNotReady, health.NodeMissing, health.NodeUnknown)
		report := health.NodeReport{State: state, Since: now.Add(-time.Minute), Version: "1.35.4"}
		if state == health.NodeNotReady || state == health.NodeMissing {
			report.Text = "its kubelet does not renew its lease any more"
		}
		h.Nodes[n.Name] = report
	}
	h.CertificateExpires = now.Add(time.Duration(r.IntN(100)-10) * 24 * time.Hour)
	return h
}

// TestLooksThatStop: no look at a cluster is no proof that it is healthy again. From each state that the
// looks have shown, their end keeps Ready from becoming True, and keeps what was seen.
func TestLooksThatStop(t *testing.T) {
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 8))
		s := randomWorld(r, now)
		for s.Health = nil; s.Health == nil || s.Health.Unchecked != ""; {
			s.Health = randomHealth(r, s, now)
		}
		p := &v1alpha1.Provisioning{}
		Report(p, s, Next(s, now), nil, nil, now)
		before := p.Status.GetCondition(v1alpha1.ConditionClusterHealthy)
		if !before.IsFalse() && before.Reason != v1alpha1.ReasonAPIUnavailable {
			continue
		}
		nodes := p.DeepCopy().Status.Nodes
		for _, next := range []*Health{{Unchecked: "there are no credentials"}, {Unchecked: "it denies /readyz", Denied: true}, {Unchecked: "there are no credentials"}, nil} {
			s.Health = next
			Report(p, s, Next(s, now), nil, nil, now)
			c, want := p.Status.GetCondition(v1alpha1.ConditionClusterHealthy), reasonLooksStopped
			if next != nil && next.Denied {
				want = v1alpha1.ReasonAccessDenied
			}
			if !c.IsUnknown() || c.Reason != want || p.Status.GetCondition(v1alpha1.ConditionReady).IsTrue() {
				t.Fatalf("seed %d: after %s: %s %s: %s", seed, before.Reason, c.Status, c.Reason, c.Message)
			}
			for i, n := range p.Status.Nodes {
				if healthOf(nodes[i]) != v1alpha1.NodeReady && nodes[i].State != v1alpha1.NodeLost && (n.State != v1alpha1.NodeUnknown || !strings.Contains(n.Message, nodes[i].Message)) {
					t.Fatalf("seed %d: node %+v became %+v", seed, nodes[i], n)
				}
			}
		}
	}
}
