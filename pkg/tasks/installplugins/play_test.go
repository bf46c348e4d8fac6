package installplugins

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// The playbook runs on the nodes that fit, with pinned host keys and the parameters in a file.
func TestConfigure(t *testing.T) {
	w := newFixture(t).wants("nodes")
	w.in.Request.Plugins[0].Hosts = []string{"host-1", "host-3"}
	w.in.Request.Plugins[0].Parameters = json.RawMessage(`{"mode":"secret-mode"}`)
	w.in.Request.Lost = []string{"master-1"}
	if _, err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	args := strings.Join(w.plays[0].Args, " ")
	if !strings.Contains(args, "--limit worker-2 configure.yml") || strings.Contains(args, "secret-mode") {
		t.Errorf("arguments %s", args)
	}
	var vars map[string]any
	if err := json.Unmarshal([]byte(w.extra[0]), &vars); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(fmt.Sprint(vars["ansible_ssh_args"]), "StrictHostKeyChecking=yes") {
		t.Errorf("the host keys are not verified: %v", vars["ansible_ssh_args"])
	}
	delete(vars, "ansible_ssh_args")
	compare(t, "variables", map[string]any{"mode": "secret-mode", "plugin_name": "nodes", "plugin_version": "v1",
		"plugin_files": map[string]any{"firmware": map[string]any{"url": "http://depot.local/files/example.com/fw.bin", "sha256": strings.Repeat("a", 64)}}}, vars)
	if strings.Contains(w.log.String(), "secret-mode") {
		t.Error("the log shows a parameter")
	}
	compare(t, "calls", []string{"apply nodes", "ready nodes"}, w.cluster.done)

	w.play = func(_ context.Context, stdout io.Writer) int {
		fmt.Fprintln(stdout, `{"_event":"v2_runner_on_unreachable","hosts":{"worker-2":{"unreachable":true,"msg":"no route"}},"task":{"name":"do"}}`)
		fmt.Fprintln(stdout, `{"_event":"v2_playbook_on_stats","stats":{"worker-2":{"ok":0,"changed":0,"failures":0,"unreachable":1,"skipped":0,"rescued":0,"ignored":0}}}`)
		return 4
	}
	if _, err := w.run(t.Context()); reasonOf(err) != contract.ReasonPluginFailed || !strings.Contains(w.states()[0], "worker-2: do: no route") {
		t.Errorf("%v, %v", err, w.states())
	}
	if len(w.cluster.done) != 0 {
		t.Errorf("after a failed playbook: %v", w.cluster.done)
	}
}
