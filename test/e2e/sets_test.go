//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/test/site"
)

// TestStandby installs a node set that is spread over racks, with one active worker and one
// standby. When the worker's machine is lost, the standby joins the running cluster automatically.
// The run does not touch the nodes that stay.
func TestStandby(t *testing.T) {
	s := site.NewTenant(t, "e2e-standby", 5, 0)
	s.Admin().Kubectl("label", "--namespace", s.Pool, "baremetalhosts", "host-2", "rack=r1")
	s.Admin().Kubectl("label", "--namespace", s.Pool, "baremetalhosts", "host-3", "rack=r2")
	s.Apply(s.Provisioning("edge-5",
		site.Master("master-1", v1alpha1.Master{MACAddress: site.MAC(s.MAC("host-1"))}),
		site.Worker("worker-1", v1alpha1.Worker{MACAddress: site.MAC(s.MAC("host-5"))}),
		func(p *v1alpha1.Provisioning) {
			p.Spec.NodeSets = []v1alpha1.NodeSet{{
				Name: "pool", Count: v1alpha1.NodeCount{Active: 1, Standby: 1}, TopologyKey: "rack",
				HostRequirements: v1alpha1.HostRequirements{CPU: 8, Memory: "16Gi"},
			}}
		}))

	ready := site.Await(s, &v1alpha1.ProvisioningList{}, "edge-5 to be Ready", installLimit, site.Ready)
	before := states(ready)
	if diff := cmp.Diff(map[string]v1alpha1.NodeState{"master-1": "Ready", "worker-1": "Ready", "pool-1": "Ready", "pool-2": "Standby"}, before); diff != "" {
		t.Fatalf("nodes (-want +got):\n%s", diff)
	}
	lost := hostOf(ready, "pool-1")
	if held := s.Holders(); len(held) != 4 || held["host-4"] != "" {
		t.Errorf("held hosts: %v, want four, without host-4, which has no rack label", held)
	}
	if label := s.Admin().Kubectl("get", "--namespace", s.Pool, "baremetalhosts", "-l", contract.LabelStandby+"=true", "-o", "name"); label != "baremetalhost.metal3.io/"+hostOf(ready, "pool-2")+"\n" {
		t.Errorf("labelled as standby: %q", label)
	}
	checkCluster(t, s, ready, 3)

	stay := []string{"host-1", "host-5"}
	untouched := prints(s, stay)
	logins := s.On("host-5", countLogins)
	s.Lab("remove", lost)
	replaced := site.Await(s, &v1alpha1.ProvisioningList{}, "the standby to take its place", installLimit, func(p *v1alpha1.Provisioning) bool {
		return site.Ready(p) && states(p)["pool-2"] == v1alpha1.NodeReady
	})
	if replaced.Status.Run.Operation != contract.OperationAddNodes {
		t.Errorf("the last run did %s, want %s", replaced.Status.Run.Operation, contract.OperationAddNodes)
	}
	if _, there := states(replaced)["pool-1"]; there {
		t.Errorf("nodes %v: the lost one is still there", states(replaced))
	}
	site.Await(s, &v1alpha1.ProvisioningList{}, "edge-5 to be Ready", time.Minute, site.Ready)
	if diff := cmp.Diff(untouched, prints(s, stay)); diff != "" {
		t.Errorf("the replacement changed nodes that stay (-before +after):\n%s", diff)
	}
	if now := s.On("host-5", countLogins); now != logins || strings.TrimSpace(logins) == "0" {
		t.Errorf("logins on the worker that stays: %s before the replacement, %s after it", logins, now)
	}
	// Kubernetes reports a node as lost only 50 s after its last heartbeat. The standby may have
	// joined earlier, so the test waits for the report. If it joined later, the run has removed the
	// lost node.
	out, err := site.Kubectl(kubeconfigOf(t, s, replaced), "", "wait", "node/pool-1", "--for=condition=Ready=Unknown", "--timeout=90s")
	if err != nil && !strings.Contains(out, `nodes "pool-1" not found`) {
		t.Errorf("the lost node: %v\n%s", err, out)
	}
	checkCluster(t, s, replaced, 3)
	if runs := s.Runs(); len(runs) != 2 {
		t.Errorf("%d runs for one installation and one loss", len(runs))
	}
}

// countLogins prints the number of SSH logins since the machine has started.
const countLogins = `journalctl --unit ssh --no-pager | grep -c "Accepted publickey"; true`

// prints returns, for each host, text that changes if somebody configures the node: versions of the
// files that an installation writes, and the starts of its services.
func prints(s *site.Site, hosts []string) map[string]string {
	s.T.Helper()
	all := map[string]string{}
	for _, host := range hosts {
		all[host] = s.On(host, `stat --format "%n %i %Y" /etc/hosts /etc/containerd/config.toml /etc/systemd/system/kubelet.service /var/lib/kubelet/config.yaml \
			/usr/local/bin/kubelet /usr/local/bin/containerd /etc/bpa/* /etc/apt/apt.conf.d/90bpa-depot && \
			systemctl show --property Id --property InvocationID --property ActiveEnterTimestamp kubelet containerd`)
	}
	return all
}

func states(p *v1alpha1.Provisioning) map[string]v1alpha1.NodeState {
	all := map[string]v1alpha1.NodeState{}
	for _, n := range p.Status.Nodes {
		all[n.Name] = n.State
	}
	return all
}

func hostOf(p *v1alpha1.Provisioning, node string) string {
	for _, n := range p.Status.Nodes {
		if n.Name == node {
			return n.Host
		}
	}
	return ""
}
