//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/test/site"
)

// TestNoHostFits checks that no run starts while no host fits, and that the condition names the
// slot and the number of hosts that do not fit. When a host that fits is added, the installation
// starts automatically.
func TestNoHostFits(t *testing.T) {
	s := site.New(t, "e2e-waiting", 0, 2)
	s.Apply(s.Provisioning("edge-2", site.LabPlaybooks, site.Master("master-1", v1alpha1.Master{HostRequirements: v1alpha1.HostRequirements{CPU: 8, Memory: "16Gi"}})))

	waiting := site.Await(s, &v1alpha1.ProvisioningList{}, "the explanation", time.Minute, site.NotReady("HostsNotAvailable"))
	message := waiting.Status.GetCondition(v1alpha1.ConditionHostsClaimed).GetMessage()
	for _, want := range []string{"master-1", "2 hosts"} {
		if !strings.Contains(message, want) {
			t.Errorf("message %q does not contain %q", message, want)
		}
	}
	if runs := s.Runs(); len(runs) != 0 {
		t.Errorf("%d runs were started although no host fits", len(runs))
	}

	s.Lab("add", "host-1", "--cpu", "8", "--memory", "16")
	ready := site.Await(s, &v1alpha1.ProvisioningList{}, "edge-2 to be Ready", installLimit, site.Ready)
	checkCluster(t, s, ready, 1)
}
