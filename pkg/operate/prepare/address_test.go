package prepare_test

import (
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// TestControlPlanesGetTheAddress: each control plane gets it before the playbook, and no worker does.
func TestControlPlanesGetTheAddress(t *testing.T) {
	w := kubespraytest.New(t, 2)
	w.In.Nodes[1].Roles = []string{contract.RoleControlPlane}
	var mu sync.Mutex
	got := map[int]string{}
	w.MoveAddress(func(i int, did string) {
		mu.Lock()
		defer mu.Unlock()
		if got[i] = did; len(w.Ran) > 0 {
			t.Errorf("server %d %s after the playbook", i, did)
		}
	})
	if _, err := w.Run(); err != nil {
		t.Fatal(err)
	}
	want := map[int]string{0: "shares the address with " + w.In.Nodes[1].Address, 1: "shares the address with " + w.In.Nodes[0].Address}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("control planes (-want +got):\n%s", diff)
	}
}

func TestAMachineThatCannotHaveTheAddress(t *testing.T) {
	w := kubespraytest.New(t, 0)
	w.In.Request.API = &contract.API{Address: "10.60.0.100", Port: 6443, Virtual: true}
	w.Scripts = func(_ int, command string, _, stderr io.Writer) (int, bool) {
		_, _ = io.WriteString(stderr, "this machine has the address 10.60.0.100 already")
		return 1, strings.Contains(command, "/etc/bpa/keepalived")
	}
	_, err := w.Run()
	var failed *task.Error
	if !errors.As(err, &failed) || failed.Reason != contract.ReasonPlaybookFailed || failed.Host != "master-1" {
		t.Fatalf("Run: %v; want a failure of master-1 that a user must fix", err)
	}
	for _, want := range []string{"this machine has the address", "Correct spec.kubernetes.api.address"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
	if len(w.Ran) > 0 {
		t.Error("the playbook ran nevertheless")
	}
}
