package provisioning

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"knative.dev/pkg/controller"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/health"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

// lose puts host-3, on which workers-2 runs, into quarantine.
func (f *fakeHosts) lose() *hosts.Host {
	h := &f.all[2]
	h.Lost, h.Unusable, h.Trouble = true, "in quarantine", "in quarantine"
	return h
}

// waits reconciles once, and checks that the reconciler waits for this time and starts no run.
func (w *fixture) waits(t *testing.T, want time.Duration) {
	t.Helper()
	err := w.visit(t, at)
	if again, after := controller.IsRequeueKey(err); !again || after != want {
		t.Errorf("the reconcile returned %v; want a wait of %s", err, want)
	}
	if w.runNamed(t, "edge-1-add-nodes-2") != nil {
		t.Error("a run has started")
	}
}

// TestLostHostIsFenced: the run that replaces a lost host starts when Metal3 has powered the host off.
// Until then, the reconciler writes nothing more, also after a restart. After the quarantine, the host
// is powered on.
func TestLostHostIsFenced(t *testing.T) {
	site, nodes := fleet()
	w := installedEdge(t, site, nodes)
	w.settle(t)
	lost := site.lose()
	lost.PowerManaged = true
	w.waits(t, 5*time.Minute)
	if diff := cmp.Diff([]string{"host-3"}, site.fenced); diff != "" {
		t.Fatalf("fenced (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(hosts.Fence{At: now, By: contract.User{Namespace: "site", Name: name, UID: "uid-1"}}, lost.Fence); diff != "" {
		t.Errorf("the request (-want +got):\n%s", diff)
	}
	if events := w.events(); !strings.Contains(events, "Normal FencingHosts lost hosts are powered off before they are replaced: host-3") {
		t.Errorf("events:\n%s", events)
	}
	w.sync(t)
	lost.Fence.At = now.Add(-time.Minute) // the clock of the fixture stands still
	w.waits(t, 4*time.Minute)
	w.sync(t)
	w.waits(t, 4*time.Minute)
	if len(site.fenced) != 1 {
		t.Errorf("Metal3 was asked again: %v", site.fenced)
	}
	lost.SwitchedOff = true
	w.sync(t)
	if err := w.visit(t, at); err != nil {
		t.Fatal(err)
	}
	if w.runNamed(t, "edge-1-add-nodes-2") == nil || len(site.poweredOn) > 0 {
		t.Fatalf("no run after the host is off, or it is powered on again: %v; calls %q", site.poweredOn, w.calls())
	}
	lost.Lost, lost.Unusable, lost.Trouble = false, "", "powered off"
	w.sync(t)
	_ = w.visit(t, at) // the run is active
	if diff := cmp.Diff([]string{"host-3"}, site.poweredOn); diff != "" {
		t.Errorf("powered on after the quarantine (-want +got):\n%s", diff)
	}
}

func (w *fixture) events() string {
	var all []string
	for len(w.recorder.Events) > 0 {
		all = append(all, <-w.recorder.Events)
	}
	return strings.Join(all, "\n")
}

// TestReplacedWithoutFence: hosts that cannot be powered off do not hold up the replacement.
func TestReplacedWithoutFence(t *testing.T) {
	for what, change := range map[string]func(*hosts.Host){
		"no BMC": func(*hosts.Host) {},
		"the limit is over": func(h *hosts.Host) {
			h.PowerManaged, h.Fence = true, hosts.Fence{At: now.Add(-5 * time.Minute), By: contract.User{UID: "uid-1"}}
		},
		"an error of Metal3": func(h *hosts.Host) {
			h.PowerManaged, h.Fence = true, hosts.Fence{At: now.Add(-time.Second), By: contract.User{UID: "uid-1"}, Failed: "registration error"}
		},
		"claimed by another consumer": func(h *hosts.Host) {
			h.PowerManaged, h.Holder = true, &hosts.Holder{Kind: "Machine", Name: "m"}
		},
	} {
		t.Run(what, func(t *testing.T) {
			site, nodes := fleet()
			w := installedEdge(t, site, nodes)
			w.settle(t)
			change(site.lose())
			if err := w.visit(t, at); err != nil {
				t.Fatal(err)
			}
			if w.runNamed(t, "edge-1-add-nodes-2") == nil || len(site.fenced) > 0 {
				t.Errorf("no run, or fenced %v", site.fenced)
			}
		})
	}
}

// TestFenceOfAnEarlierProvisioning: the request of an earlier Provisioning of this name does not count.
func TestFenceOfAnEarlierProvisioning(t *testing.T) {
	site, nodes := fleet()
	w := installedEdge(t, site, nodes)
	w.settle(t)
	lost := site.lose()
	lost.PowerManaged, lost.Fence = true, hosts.Fence{At: now.Add(-time.Hour), By: contract.User{UID: "earlier"}}
	w.waits(t, 5*time.Minute)
	if !slices.Contains(site.fenced, "host-3") {
		t.Errorf("fenced %v", site.fenced)
	}
}

// TestNodeInQuarantineIsDrained: a node that is Ready on a host in quarantine leaves in a run that drains it. The
// host is not powered off. Without a host that can take its place, nothing happens.
func TestNodeInQuarantineIsDrained(t *testing.T) {
	const drains = "edge-1-remove-nodes-2"
	for _, tc := range []struct {
		name    string
		node    health.NodeState
		spare   bool
		started string
		fenced  []string
	}{
		{"it is Ready", health.NodeReady, true, drains, nil},
		{"it is not Ready", health.NodeNotReady, true, "", []string{"host-3"}},
		{"the looks have not decided", "", true, "", nil},
		{"no other host", health.NodeReady, false, "", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			site, nodes := fleet()
			w := installedEdge(t, site, nodes, func(p *v1alpha1.Provisioning) { p.Spec.ReplacePolicy = v1alpha1.ReplaceAny })
			w.credentials(t)
			w.health.report = health.Report{API: health.APIAnswers, Since: now, Nodes: map[string]health.NodeReport{}}
			for _, n := range nodes {
				w.health.report.Nodes[n.Name] = health.NodeReport{State: health.NodeReady, Since: now}
			}
			w.settle(t)
			w.health.report.Nodes["workers-2"] = health.NodeReport{State: tc.node, Since: now}
			lost := site.lose()
			lost.PowerManaged, lost.Quarantined = true, true
			if !tc.spare {
				for i := 3; i < 5; i++ {
					site.all[i].Unusable, site.all[i].Lost, site.all[i].Trouble = "in quarantine", true, "in quarantine"
				}
			}
			w.visitOnce(t)
			w.visitOnce(t)
			if got := w.runNamed(t, drains) != nil; got != (tc.started == drains) || w.runNamed(t, "edge-1-add-nodes-2") != nil {
				t.Errorf("the run that drains the node has started: %t; HostsHealthy: %+v", got, w.stored(t).Status.GetCondition(v1alpha1.ConditionHostsHealthy))
			}
			if diff := cmp.Diff(tc.fenced, site.fenced); diff != "" {
				t.Errorf("fenced (-want +got):\n%s", diff)
			}
			if tc.started == "" {
				return
			}
			if r := w.request(t); r.Remove == nil || r.Remove.DrainSeconds == 0 || !slices.Equal(r.Remove.Alive, []string{"workers-2"}) {
				t.Errorf("the request removes %+v", r.Remove)
			}
		})
	}
}
