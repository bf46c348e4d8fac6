package controlplane_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
)

// While proxies are updated, Ansible can connect only to their workers.
func TestProxiesContactOnlyTheirWorkers(t *testing.T) {
	p := kubespraytest.NewPlanes(t, true, 1, 4, 1)
	p.Grow("master-2")
	if _, err := p.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &p.Log)
	}
	last := p.Ran[len(p.Ran)-1].Args
	if got := strings.Join(last[len(last)-5:], " "); got != "--limit worker-3 --tags nginx cluster.yml" {
		t.Errorf("ansible-playbook got %s", got)
	}
	known, err := os.ReadFile(p.In.ScratchDir + "/known_hosts")
	if err != nil || strings.Count(string(known), "\n") != 1 || !strings.Contains(string(known), "uid-4") {
		t.Errorf("Ansible may connect to %s, %v", known, err)
	}
	facts, err := os.ReadFile(p.In.ScratchDir + "/inventory/host_vars/master-1.json")
	if err != nil || !strings.Contains(string(facts), `"ansible_fqdn": "master-1"`) || !strings.Contains(string(facts), `"etcd_member_in_cluster"`) {
		t.Errorf("facts of master-1: %s, %v", facts, err)
	}
}

// A worker that is down keeps no control plane from leaving. Its proxy is updated by another attempt
// if it is Ready again.
func TestProxiesOfWorkersThatAreDown(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		kept bool
	}{
		"it is lost and stays": {true},
		"it has just died":     {false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := kubespraytest.NewLeaving(t, true, 3, "master-3")
			p.Nodes["worker-2"], p.In.HealthLimit = false, 2*time.Second
			if tc.kept {
				p.In.Request.Lost, p.In.Request.Kept = []string{"worker-2"}, []string{"worker-2"}
			}
			_, err := p.Run()
			if err != nil {
				t.Errorf("%v\n%s", err, &p.Log)
			}
			if !slices.Contains(p.Did, "proxies worker-1") || slices.ContainsFunc(p.Did, func(what string) bool { return strings.Contains(what, "worker-2") }) {
				t.Errorf("changes %v", p.Did)
			}
			if record := p.Now(); session.HasName(record.Nodes, "master-3") || len(record.Leaving) > 0 || !session.HasName(record.Nodes, "worker-2") {
				t.Errorf("record %+v", record)
			}
			p.Did, p.Nodes["worker-2"] = nil, true
			if _, err := p.Run(); err != nil || slices.Contains(p.Did, "proxies worker-2") == tc.kept {
				t.Errorf("%v, changes of the second attempt %v", err, p.Did)
			}
		})
	}
}

// The same, while a control plane joins.
func TestAdditionWhileAWorkerIsDown(t *testing.T) {
	t.Parallel()
	p := kubespraytest.NewPlanes(t, true, 1, 3, 1)
	p.Grow("master-2")
	p.Nodes["worker-2"], p.In.HealthLimit = false, 2*time.Second
	if _, err := p.Run(); err != nil {
		t.Errorf("%v\n%s", err, &p.Log)
	}
	if !slices.Contains(p.Did, "proxies worker-1") || !strings.Contains(p.Log.String(), "Worker worker-2 is not Ready, so its proxy is not updated") {
		t.Errorf("changes %v\n%s", p.Did, &p.Log)
	}
}
