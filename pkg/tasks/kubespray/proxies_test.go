package kubespray

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/operate/session"
)

// While proxies are updated, Ansible can connect only to their workers.
func TestProxiesContactOnlyTheirWorkers(t *testing.T) {
	p := newPlanes(t, true, 1, 4, 1)
	p.grow("master-2")
	if _, err := p.run(); err != nil {
		t.Fatalf("%v\n%s", err, &p.log)
	}
	last := p.ran[len(p.ran)-1].Args
	if got := strings.Join(last[len(last)-5:], " "); got != "--limit worker-3 --tags nginx cluster.yml" {
		t.Errorf("ansible-playbook got %s", got)
	}
	known, err := os.ReadFile(p.in.ScratchDir + "/known_hosts")
	if err != nil || strings.Count(string(known), "\n") != 1 || !strings.Contains(string(known), "uid-4") {
		t.Errorf("Ansible may connect to %s, %v", known, err)
	}
	facts, err := os.ReadFile(p.in.ScratchDir + "/inventory/host_vars/master-1.json")
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
			p := newLeaving(t, true, 3, "master-3")
			p.nodes["worker-2"], p.in.HealthLimit = false, 2*time.Second
			if tc.kept {
				p.in.Request.Lost, p.in.Request.Kept = []string{"worker-2"}, []string{"worker-2"}
			}
			_, err := p.run()
			if err != nil {
				t.Errorf("%v\n%s", err, &p.log)
			}
			if !slices.Contains(p.did, "proxies worker-1") || slices.ContainsFunc(p.did, func(what string) bool { return strings.Contains(what, "worker-2") }) {
				t.Errorf("changes %v", p.did)
			}
			if record := p.now(); session.HasName(record.Nodes, "master-3") || len(record.Leaving) > 0 || !session.HasName(record.Nodes, "worker-2") {
				t.Errorf("record %+v", record)
			}
			p.did, p.nodes["worker-2"] = nil, true
			if _, err := p.run(); err != nil || slices.Contains(p.did, "proxies worker-2") == tc.kept {
				t.Errorf("%v, changes of the second attempt %v", err, p.did)
			}
		})
	}
}

// The same, while a control plane joins.
func TestAdditionWhileAWorkerIsDown(t *testing.T) {
	t.Parallel()
	p := newPlanes(t, true, 1, 3, 1)
	p.grow("master-2")
	p.nodes["worker-2"], p.in.HealthLimit = false, 2*time.Second
	if _, err := p.run(); err != nil {
		t.Errorf("%v\n%s", err, &p.log)
	}
	if !slices.Contains(p.did, "proxies worker-1") || !strings.Contains(p.log.String(), "Worker worker-2 is not Ready, so its proxy is not updated") {
		t.Errorf("changes %v\n%s", p.did, &p.log)
	}
}
