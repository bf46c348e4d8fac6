//go:build e2e

package e2e

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/test/site"
)

// TestStandby installs a node set that is spread over racks, with one active worker and one
// standby. When the worker's machine is lost, the standby joins the running cluster automatically.
func TestStandby(t *testing.T) {
	s := site.New(t, "e2e-standby", 4, 0)
	s.Kubectl("label", "baremetalhosts", "host-2", "rack=r1")
	s.Kubectl("label", "baremetalhosts", "host-3", "rack=r2")
	s.Apply(s.Provisioning("edge-5", site.LabPlaybooks,
		site.Master("master-1", v1alpha1.Master{MACAddress: site.MAC(s.MAC("host-1"))}),
		func(p *v1alpha1.Provisioning) {
			p.Spec.NodeSets = []v1alpha1.NodeSet{{
				Name: "pool", Count: v1alpha1.NodeCount{Active: 1, Standby: 1}, TopologyKey: "rack",
				HostRequirements: v1alpha1.HostRequirements{CPU: 8, Memory: "16Gi"},
			}}
		}))

	ready := site.Await(s, &v1alpha1.ProvisioningList{}, "edge-5 to be Ready", installLimit, site.Ready)
	before := states(ready)
	if diff := cmp.Diff(map[string]v1alpha1.NodeState{"master-1": "Ready", "pool-1": "Ready", "pool-2": "Standby"}, before); diff != "" {
		t.Fatalf("nodes (-want +got):\n%s", diff)
	}
	lost := hostOf(ready, "pool-1")
	if held := s.Holders(); len(held) != 3 || held["host-4"] != "" {
		t.Errorf("held hosts: %v, want three, without host-4, which has no rack label", held)
	}
	if label := s.Kubectl("get", "baremetalhosts", "-l", contract.LabelStandby+"=true", "-o", "name"); label != "baremetalhost.metal3.io/"+hostOf(ready, "pool-2")+"\n" {
		t.Errorf("labelled as standby: %q", label)
	}
	checkCluster(t, s, ready, 2)

	s.Lab("remove", lost)
	replaced := site.Await(s, &v1alpha1.ProvisioningList{}, "the standby to take its place", installLimit, func(p *v1alpha1.Provisioning) bool {
		return site.Ready(p) && states(p)["pool-2"] == v1alpha1.NodeReady
	})
	if replaced.Status.Run.Operation != contract.OperationReplace {
		t.Errorf("the last run did %s, want %s", replaced.Status.Run.Operation, contract.OperationReplace)
	}
	if _, there := states(replaced)["pool-1"]; there {
		t.Errorf("nodes %v: the lost one is still there", states(replaced))
	}
	site.Await(s, &v1alpha1.ProvisioningList{}, "edge-5 to be Ready", time.Minute, site.Ready)
	// Kubernetes reports a node as lost only 50 s after its last heartbeat. The standby may have
	// joined earlier, so the test waits for the report.
	if out, err := site.Kubectl(kubeconfigOf(t, s, replaced), "", "wait", "node/pool-1", "--for=condition=Ready=Unknown", "--timeout=90s"); err != nil {
		t.Errorf("the lost node: %v\n%s", err, out)
	}
	checkCluster(t, s, replaced, 2)
	if runs := s.Runs(); len(runs) != 2 {
		t.Errorf("%d runs for one installation and one loss", len(runs))
	}
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
