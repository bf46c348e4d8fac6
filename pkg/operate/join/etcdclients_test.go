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
	if f := task.FailureOf(err); f.Reason != contract.ReasonPlaybookFailed || f.Host != "worker-1" || !strings.Contains(err.Error(), "remove the etcd client certificate from worker-1") || !strings.Contains(err.Error(), "read-only file system") {
		t.Errorf("failure %+v", f)
	}
}
