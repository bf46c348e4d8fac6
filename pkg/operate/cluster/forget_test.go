package cluster_test

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
)

// A lost node is deleted from the cluster. A Ready node is not deleted, even if it is listed as
// lost in the request.
func TestForget(t *testing.T) {
	w := kubespraytest.New(t, 1)
	w.In.Request.Lost = []string{"worker-7", "worker-8", "worker-9", "odd; reboot"}
	var mu sync.Mutex
	state := map[string]string{"worker-7": "Unknown", "worker-8": "True"}
	var deleted []string
	w.Nodes = func(command string, stdout io.Writer) int {
		mu.Lock()
		defer mu.Unlock()
		_, rest, _ := strings.Cut(command, " node ")
		name, _, _ := strings.Cut(rest, " ")
		if strings.Contains(command, " delete node ") {
			deleted = append(deleted, name)
			delete(state, name)
			return 0
		}
		fmt.Fprint(stdout, state[name])
		return 0
	}
	if _, err := w.Run(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"worker-7"}, deleted); diff != "" {
		t.Errorf("removed nodes (-want +got):\n%s", diff)
	}
	for _, want := range []string{"worker-7: removed", "worker-8: it is Ready", "worker-9: it is not in the cluster"} {
		if !strings.Contains(w.Log.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, w.Log.String())
		}
	}
}

// A node that cannot be deleted does not fail the run: the API server may be unable to answer until
// the playbook has repaired it.
func TestForgetDoesNotFailTheRun(t *testing.T) {
	w := kubespraytest.New(t, 0)
	w.In.Request.Lost = []string{"worker-7"}
	w.Nodes = func(string, io.Writer) int { return 1 }
	if _, err := w.Run(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(w.Log.String(), "kubectl delete node worker-7") {
		t.Errorf("the log does not say what is left to do:\n%s", w.Log.String())
	}
}

// A machine that has just ended is still Ready in the cluster. The run waits for the end of its
// heartbeats.
func TestForgetWaitsForTheLastHeartbeat(t *testing.T) {
	w := kubespraytest.New(t, 1)
	w.In.Request.Lost = []string{"worker-7"}
	var mu sync.Mutex
	state := "True"
	w.Waited = func(command string) {
		mu.Lock()
		defer mu.Unlock()
		if strings.Contains(command, "--for=condition=Ready=Unknown node/worker-7 ") {
			state = "Unknown"
		}
	}
	w.Nodes = func(command string, stdout io.Writer) int {
		mu.Lock()
		defer mu.Unlock()
		if strings.Contains(command, " delete node worker-7 ") {
			state = ""
		}
		fmt.Fprint(stdout, state)
		return 0
	}
	if _, err := w.Run(); err != nil || state != "" {
		t.Errorf("%v, the node is %q, want it removed\n%s", err, state, w.Log.String())
	}
}
