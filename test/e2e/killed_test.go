//go:build e2e

package e2e

import (
	"testing"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/test/site"
)

// TestKilled takes two machines through two lives. In the first
// life the playbook is killed between etcd and the control plane, in the second one inside kubeadm
// init. Both clusters become Ready without help. The deletion between them empties the machines, so
// that they can exchange their roles. The last deletion finds one of them switched off.
func TestKilled(t *testing.T) {
	s := site.NewTenant(t, "e2e-killed", 2, 0)
	first := s.Apply(s.Provisioning("edge-17",
		site.Master("master-1", v1alpha1.Master{MACAddress: site.MAC(s.MAC("host-1"))}),
		site.Worker("worker-1", v1alpha1.Worker{MACAddress: site.MAC(s.MAC("host-2"))})))
	ca := killPlaybook(t, s, first, "host-1", afterEtcd)
	if ca != "" {
		t.Errorf("kubeadm had made a CA before the kill (%s): it was not between etcd and the control plane", ca)
	}
	ready := awaitRetried(t, s, first, "host-1", ca)
	deleteAndReset(t, s, first)

	second := s.Apply(exchanged(s, "edge-18", ready))
	ca = killPlaybook(t, s, second, "host-2", insideKubeadm)
	if ca == "" {
		t.Error("kubeadm had made no CA before the kill: it was not inside kubeadm init")
	}
	awaitRetried(t, s, second, "host-2", ca)

	deleteWithDeadHost(t, s, second, "host-1")
	third := s.Apply(s.Provisioning("edge-19", site.Master("master-1", v1alpha1.Master{MACAddress: site.MAC(s.MAC("host-1"))})))
	awaitResetCommand(t, s, third, "host-1")
}
