package upgrade_test

import (
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// An upgraded node that starts no pod stays cordoned and half upgraded.
func TestAnUpgradedNodeThatStartsNoPod(t *testing.T) {
	u := newUpgrading(t, false, 1, 2, "worker-1")
	u.Podless, u.In.HealthLimit = map[string]string{"worker-1": kubespraytest.NoPlugin}, 2*time.Second
	_, err := u.Run()
	if f := task.FailureOf(err); f.Reason != contract.ReasonClusterUnhealthy || f.Host != "worker-1" || !strings.Contains(f.Message, "starts no pod: "+kubespraytest.NoPlugin) {
		t.Errorf("failure %+v", f)
	}
	u.expectLevels("1.34.3", map[string]string{"worker-1": ">1.35.4"})
	u.Podless = nil
	if _, err := u.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &u.Log)
	}
	u.expectLevels("1.34.3", map[string]string{"worker-1": "1.35.4"})
}

// The nodes to which variables were applied start pods.
func TestConfiguredNodesStartPods(t *testing.T) {
	c := newConfiguring(t, 1, 1, dns(), `{"dns_memory_limit":"1Gi"}`)
	c.Podless = map[string]string{"master-1": kubespraytest.NoPlugin}
	_, err := c.Run()
	if f := task.FailureOf(err); f.Reason != contract.ReasonClusterUnhealthy || f.Host != "master-1" || !strings.Contains(f.Message, "starts no pod: "+kubespraytest.NoPlugin) {
		t.Errorf("failure %+v, pods on %v", f, c.Starts)
	}
}
