package plan

import (
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/health"
)

// TestFencing checks which hosts are powered off. Only a host that this Provisioning holds and that is
// lost may ever be.
func TestFencing(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	due := Host{Ours: true, Claimed: true, Lost: true, PowerManaged: true}
	for _, tc := range []struct {
		name string
		edit func(*Host)
		want fencing
	}{
		{"in quarantine", func(*Host) {}, toFence},
		{"not lost", func(h *Host) { h.Lost = false }, notFenced},
		{"no BMC, or paused", func(h *Host) { h.PowerManaged = false }, notFenced},
		{"claimed by another consumer", func(h *Host) { h.Ours, h.Claimed, h.Holder = false, false, "Machine m" }, notFenced},
		{"not claimed any more", func(h *Host) { h.Ours, h.Claimed = false, false }, notFenced},
		{"claimed by an earlier Provisioning of this name", func(h *Host) { h.Claimed = false }, notFenced},
		{"off already", func(h *Host) { h.SwitchedOff = true }, fenced},
		{"asked", func(h *Host) { h.FencedAt = now.Add(-fenceLimit + time.Second) }, beingOff},
		{"asked and off", func(h *Host) { h.FencedAt, h.SwitchedOff = now.Add(-time.Second), true }, fenced},
		{"asked, and not off within the limit", func(h *Host) { h.FencedAt = now.Add(-fenceLimit) }, fenceFails},
		{"off after the limit", func(h *Host) { h.FencedAt, h.SwitchedOff = now.Add(-fenceLimit), true }, fenced},
		{"asked, and an error", func(h *Host) { h.FencedAt, h.FenceFailed = now.Add(-time.Second), "registration error" }, fenceFails},
		{"asked in the future", func(h *Host) { h.FencedAt = now.Add(time.Hour) }, toFence},
		{"being off, and paused then", func(h *Host) { h.FencedAt, h.PowerManaged = now.Add(-time.Second), false }, notFenced},
	} {
		h := due
		tc.edit(&h)
		if got := h.fencing(now); got != tc.want {
			t.Errorf("%s: fencing %d, want %d", tc.name, got, tc.want)
		}
	}
}

// TestAliveAfterAnInterruptedReplacement: a run has installed the new machine of a node in quarantine and was killed
// before it recorded this. The cluster knows the new machine by the name of the old one, which is dead: to remove the
// node first would fail again and again.
func TestAliveAfterAnInterruptedReplacement(t *testing.T) {
	old := contract.Node{Name: "worker-1", Host: "host-1", HostUID: "u1"}
	s := Seen{
		Nodes: []contract.Node{old}, States: contract.HostStates{"u1": contract.HostUsed}, Limits: Limits{Drain: time.Minute},
		Site: map[string]Host{
			"host-1": {UID: "u1", Ours: true, Claimed: true, Lost: true, Quarantined: true}, "host-2": {UID: "u2", Ours: true, Claimed: true},
		},
		Health: &Health{Report: health.Report{API: health.APIAnswers, Nodes: map[string]health.NodeReport{"worker-1": {State: health.NodeReady}}}},
	}
	if !s.alive(old) {
		t.Error("a node that works in quarantine is dead")
	}
	s.Nodes = []contract.Node{{Name: "worker-1", Host: "host-2", HostUID: "u2"}}
	if !s.alive(old) {
		t.Error("a node that works in quarantine is dead although its new machine was only claimed")
	}
	if s.States["u2"] = contract.HostUsed; s.alive(old) {
		t.Error("the old node is alive because the new one is Ready")
	}
}
