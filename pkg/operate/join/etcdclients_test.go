package join_test

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// removals records, in w, the commands that remove etcd client certificates, after the playbook.
func removals(w *kubespraytest.Fixture, status int) func() []string {
	var mu sync.Mutex
	var seen []string
	w.Scripts = func(i int, command string, _, stderr io.Writer) (int, bool) {
		if !strings.Contains(command, "/node-*.pem") {
			return 0, false
		}
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, fmt.Sprintf("%s after %d playbooks: %s", w.In.Nodes[i].Name, len(w.Ran), command))
		if status != 0 {
			fmt.Fprint(stderr, "read-only file system")
		}
		return status, true
	}
	return func() []string { slices.Sort(seen); return seen }
}

// TestWorkersAreNoEtcdClients: with flannel, kubespray creates an etcd client certificate for each worker.
func TestWorkersAreNoEtcdClients(t *testing.T) {
	on := func(folder string) []string {
		return []string{"worker-1 after 1 playbooks: sh -c 'rm -f " + folder + "/node-*.pem'", "worker-2 after 1 playbooks: sh -c 'rm -f " + folder + "/node-*.pem'"}
	}
	for name, tc := range map[string]struct {
		plugin string
		vars   string
		want   []string
	}{
		"flannel":                                {"flannel", `{}`, on("/etc/ssl/etcd/ssl")},
		"another folder":                         {"flannel", `{"etcd_cert_dir": "/srv/keys"}`, on("/srv/keys")},
		"another folder of etcd":                 {"flannel", `{"etcd_config_dir": "/srv/etcd"}`, on("/srv/etcd/ssl")},
		"a folder that nobody knows":             {"flannel", `{"etcd_cert_dir": "{{ here }}/keys"}`, nil},
		"flannel and cilium":                     {"flannel", `{"cilium_deploy_additionally": true}`, nil},
		"a plugin that may need the certificate": {"cilium", `{}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := kubespraytest.New(t, 2)
			w.In.Request.NetworkPlugin = tc.plugin
			if err := json.Unmarshal([]byte(tc.vars), &w.In.Request.Vars); err != nil {
				t.Fatal(err)
			}
			removed := removals(w, 0)
			if _, err := w.Run(); err != nil {
				t.Fatalf("%v\n%s", err, &w.Log)
			}
			if diff := cmp.Diff(tc.want, removed()); diff != "" {
				t.Errorf("removed (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEtcdClientCertificateThatStays: a run that leaves the certificate on a worker fails.
func TestEtcdClientCertificateThatStays(t *testing.T) {
	w := kubespraytest.New(t, 1)
	w.In.Request.NetworkPlugin = "flannel"
	removals(w, 1)
	_, err := w.Run()
	if f := task.FailureOf(err); f.Reason != contract.ReasonPlaybookFailed || f.Host != "worker-1" || !strings.Contains(err.Error(), "remove the etcd client certificate on worker-1") || !strings.Contains(err.Error(), "read-only file system") {
		t.Errorf("failure %+v", f)
	}
}

// fills records, in p, the commands that prepare the first member of etcd.
func fills(p *kubespraytest.Planes, status int) func() []string {
	var mu sync.Mutex
	var seen []string
	inner := p.Scripts
	p.Scripts = func(i int, command string, stdout, stderr io.Writer) (int, bool) {
		if !strings.Contains(command, "echo >$f") {
			return inner(i, command, stdout, stderr)
		}
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, fmt.Sprintf("%s after %d playbooks: %s", p.In.Nodes[i].Name, len(p.Ran), command))
		return status, true
	}
	return func() []string { return seen }
}

// TestFirstMemberHasFilesOfAllWorkers: kubespray copies the etcd client certificates of all nodes from the first member to a new one, but
// creates none of nodes outside the limit.
func TestFirstMemberHasFilesOfAllWorkers(t *testing.T) {
	for plugin, want := range map[string][]string{
		"flannel": {"master-1 after 0 playbooks: sh -c 'mkdir -p -m 0700 /etc/ssl/etcd/ssl && cd /etc/ssl/etcd/ssl && " +
			"for f in node-worker-1.pem node-worker-1-key.pem node-worker-2.pem node-worker-2-key.pem; do test -e $f || echo >$f || exit; done'"},
		"cilium": nil,
	} {
		t.Run(plugin, func(t *testing.T) {
			p := kubespraytest.NewPlanes(t, false, 1, 3, 1)
			p.In.Request.NetworkPlugin = plugin
			p.Grow("master-2")
			filled := fills(p, 0)
			if _, err := p.Run(); err != nil {
				t.Fatalf("%v\n%s", err, &p.Log)
			}
			if diff := cmp.Diff(want, filled()); diff != "" {
				t.Errorf("filled (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFirstMemberThatCannotBeFilled: the playbook would fail later, in the middle of a change of etcd.
func TestFirstMemberThatCannotBeFilled(t *testing.T) {
	p := kubespraytest.NewPlanes(t, false, 1, 3, 1)
	p.In.Request.NetworkPlugin = "flannel"
	p.Grow("master-2")
	fills(p, 1)
	_, err := p.Run()
	if f := task.FailureOf(err); f.Reason != contract.ReasonPlaybookFailed || f.Host != "master-1" || len(p.ChangesOnly()) > 0 {
		t.Errorf("failure %+v, changes %v", f, p.ChangesOnly())
	}
}
