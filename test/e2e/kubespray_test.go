//go:build e2e && kubespray

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
// installed in this cluster as in one of the lab's playbooks.
func TestKubespray(t *testing.T) {
	s := site.New(t, "e2e-kubespray", 2, 0)
	for _, host := range []string{"host-1", "host-2"} {
		isolate(t, s, host)
	}
	s.Apply(s.Provisioning("edge-12", site.Kubespray, withSystem(osimage.NodeSystem), withPluginsOf("multus", "nfd", "metrics-server", "qat"),
		site.Master("master-1", v1alpha1.Master{MACAddress: site.MAC(s.MAC("host-1"))}),
		site.Worker("worker-1", v1alpha1.Worker{HostRequirements: v1alpha1.HostRequirements{CPU: 8, Memory: "16Gi"}})))

	ready := site.Await(s, &v1alpha1.ProvisioningList{}, "edge-12 to be Ready", installLimit, site.Ready)
	checkCluster(t, s, ready, 2)
	checkPlugins(t, ready, map[string]string{
		"multus": "Installed passed", "nfd": "Installed passed", "metrics-server": "Installed passed", "qat": "Skipped",
	})
	// The service proves that kubespray installed the cluster. kubespray runs etcd as a service of
	// the machine; the lab's playbooks run it as a static pod.
	if out := strings.TrimSpace(s.On("host-1", "systemctl is-active etcd.service || true")); out != "active" {
		t.Errorf("etcd.service on the control plane is %q, want active: the playbooks were not kubespray's", out)
	}
	for _, n := range ready.Status.Nodes {
		checkIsolated(t, s, n.Host)
	}
	checkNoSecretShown(t, s, "edge-12")
	t.Logf("the run took %s", ready.Status.Run.CompletionTime.Sub(ready.Status.Run.StartTime.Time))
}
