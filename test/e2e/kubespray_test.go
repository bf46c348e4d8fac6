//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/test/lab/osimage"
	"github.com/akraino-icn/bpa/test/site"
)

// TestKubespray checks that the real kubespray installs a cluster on two fresh machines that can
// reach only the depot and each other. Before a host is claimed, BPA checks that the depot has
// every image, file and operating system package that kubespray and the plugins need. The plugins are
// installed in this cluster.
func TestKubespray(t *testing.T) {
	s := site.New(t, "e2e-kubespray", 2, 0)
	for _, host := range []string{"host-1", "host-2"} {
		isolate(t, s, host)
	}
	s.Apply(s.Provisioning("edge-12", withSystem(osimage.NodeSystem), withPluginsOf("multus", "nfd", "metrics-server", "qat"),
		site.Master("master-1", v1alpha1.Master{MACAddress: site.MAC(s.MAC("host-1"))}),
		site.Worker("worker-1", v1alpha1.Worker{HostRequirements: v1alpha1.HostRequirements{CPU: 8, Memory: "16Gi"}})))

	ready := site.Await(s, &v1alpha1.ProvisioningList{}, "edge-12 to be Ready", installLimit, site.Ready)
	checkCluster(t, s, ready, 2)
	checkPlugins(t, ready, map[string]string{
		"multus": "Installed passed", "nfd": "Installed passed", "metrics-server": "Installed passed", "qat": "Skipped",
	})
	if !strings.HasPrefix(ready.Status.Engine, "kubespray v") {
		t.Errorf("status.engine is %q, want kubespray with its release", ready.Status.Engine)
	}
	for _, n := range ready.Status.Nodes {
		checkIsolated(t, s, n.Host)
	}
	checkNoSecretShown(t, s, "edge-12")
	t.Logf("the run took %s", ready.Status.Run.CompletionTime.Sub(ready.Status.Run.StartTime.Time))
}
