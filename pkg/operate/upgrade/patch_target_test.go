package upgrade_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// A patch that has begun is completed, even if the record says that the node has the requested level: it
// was another patch that has begun. No playbook runs for it.
func TestPatchOfAHalfPatchedNode(t *testing.T) {
	u := newPatching(t, 1, 2, "worker-1")
	record := u.Now()
	for i := range record.Nodes {
		record.Nodes[i].Patched = patchLevel
		if record.Nodes[i].Name == "worker-1" {
			record.Nodes[i].Target = &contract.Target{Patch: "a later one"}
		}
	}
	u.Installed.Data[contract.KeyInstalled] = string(kubespraytest.JSON(t, record))
	if _, err := u.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &u.Log)
	}
	u.expectDid("cordon worker-1", "drain worker-1", "patch worker-1", "uncordon worker-1")
	u.expectHalf()
	u.expectPatched(patchLevel, map[string]string{})
}

// If the playbook fails, no patch begins, and the next attempt does both.
func TestPatchAfterAFailedPlaybook(t *testing.T) {
	u := newPatching(t, 1, 1, "worker-1")
	u.In.Request.KubernetesVersion, u.In.Request.Upgrade.Path = "1.35.4", []string{"1.35.4"}
	u.Render()
	u.fails("worker-1")
	if _, err := u.Run(); task.FailureOf(err).Reason != contract.ReasonPlaybookFailed || u.played("patch worker-1") {
		t.Fatalf("%v, changes %v\n%s", err, u.Did, &u.Log)
	}
	want := &contract.Target{Version: "1.35.4", Settings: u.In.Request.Settings()}
	if diff := cmp.Diff(want, u.Now().Nodes[1].Target); diff != "" {
		t.Errorf("target (-want +got):\n%s", diff)
	}
	u.Did = nil
	if _, err := u.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &u.Log)
	}
	u.expectDid("cordon worker-1", "upgrade-cluster.yml worker-1", "patch worker-1", "uncordon worker-1")
	u.expectHalf()
}
