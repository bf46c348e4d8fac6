package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReadyClusterListsItsNodes: a cluster that is Ready lists its own nodes, also before the host of a removed node is released.
func TestReadyClusterListsItsNodes(t *testing.T) {
	for title, before := range map[string]string{"": "paused no", "paused": "paused yes"} {
		t.Run(title, func(t *testing.T) {
			w := installedScene(t, "nodes master-1 worker-1 worker-2")
			w.tell(t, "edit nodes master-1 worker-1", "starts", before, "done")
			var listed []string
			for _, n := range w.p.Status.Nodes {
				listed = append(listed, n.Name)
			}
			if diff := cmp.Diff([]string{"master-1", "worker-1"}, listed); !w.p.Status.IsReady() || diff != "" {
				t.Errorf("Ready is %t, and the nodes are (-want +got):\n%s", w.p.Status.IsReady(), diff)
			}
		})
	}
}
