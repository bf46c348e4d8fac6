//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/test/site"
)

func oneMaster(s *site.Site, name string, more ...site.Option) *v1alpha1.Provisioning {
	return s.Provisioning(name, site.LabPlaybooks, append([]site.Option{site.Master("master-1", v1alpha1.Master{HostRequirements: v1alpha1.HostRequirements{CPU: 8, Memory: "16Gi"}})}, more...)...)
}

// pauseBeforeKubeadm makes the lab's playbook wait before kubeadm until the machine has the file
// /run/lab-continue.
var pauseBeforeKubeadm = site.Var("lab_pause_at", json.RawMessage(`"before kubeadm"`))

// paused reports whether the playbook waits because of pauseBeforeKubeadm.
func paused(p *v1alpha1.Provisioning) bool {
	return p.Status.Progress != nil && strings.Contains(p.Status.Progress.Step, "Test aid: wait")
}

// TestSSHDown checks that the failure names a node whose sshd is down. When sshd is back, the next
// attempt starts automatically and succeeds.
func TestSSHDown(t *testing.T) {
	s := site.New(t, "e2e-sshdown", 1, 0)
	s.On("host-1", "systemctl stop ssh.service ssh.socket")
	s.Apply(oneMaster(s, "edge-3"))

	failed := site.Await(s, &v1alpha1.ProvisioningList{}, "the failure", 3*time.Minute, func(p *v1alpha1.Provisioning) bool {
		return p.Status.Failure != nil
	})
	f := failed.Status.Failure
	if f.Reason != "HostUnreachable" || f.Host != "master-1" || f.NextAttempt == nil {
		t.Errorf("failure %+v: want HostUnreachable of master-1 and a next attempt", f)
	}
	s.On("host-1", "systemctl start ssh.service")
	site.Await(s, &v1alpha1.ProvisioningList{}, "edge-3 to be Ready", installLimit, site.Ready)
}

// TestPlaybookFails checks that the condition names the failed Ansible task, its host and its
// message, and that no retry is planned. A corrected spec starts the next attempt.
func TestPlaybookFails(t *testing.T) {
	s := site.New(t, "e2e-playbook", 1, 0)
	p := s.Apply(oneMaster(s, "edge-4", site.Var("lab_fail_at", json.RawMessage(`"before kubeadm"`))))

	failed := site.Await(s, &v1alpha1.ProvisioningList{}, "the failure", installLimit, site.NotReady("PlaybookFailed"))
	message := failed.Status.GetCondition("Ready").GetMessage()
	for _, want := range []string{"Test aid: fail before kubeadm", "asked to fail", "master-1", "kubespray"} {
		if !strings.Contains(message, want) {
			t.Errorf("message %q does not contain %q", message, want)
		}
	}
	if failed.Status.Failure == nil || failed.Status.Failure.NextAttempt != nil {
		t.Errorf("failure %+v: want a failure without a next attempt, because the user must correct the spec", failed.Status.Failure)
	}

	s.Change(p, func(p *v1alpha1.Provisioning) { delete(p.Spec.Kubespray.Vars, "lab_fail_at") })
	ready := site.Await(s, &v1alpha1.ProvisioningList{}, "edge-4 to be Ready", installLimit, site.Ready)
	checkCluster(t, s, ready, 1)
}

// pauseInsideKubeadm makes kubeadm init wait, after it has written the manifests of the control
// plane, until the machine has the file /run/lab-continue.
var pauseInsideKubeadm = site.Var("lab_pause_at", json.RawMessage(`"inside kubeadm init"`))

// TestDeleteInTheMiddle checks that a deletion during kubeadm init cancels the run, resets the host
// and then releases it. A second Provisioning that needs the same host waits, and never shares it.
// When the same Provisioning is applied again, the pod of its playbook is killed inside kubeadm init
// too. It becomes Ready without help, and not with the half-made control plane.
func TestDeleteInTheMiddle(t *testing.T) {
	s := site.New(t, "e2e-delete", 1, 0)
	p := s.Apply(oneMaster(s, "edge-5", pauseInsideKubeadm))
	site.Await(s, &v1alpha1.ProvisioningList{}, "the playbook to run kubeadm", installLimit, func(p *v1alpha1.Provisioning) bool {
		return p.Status.Progress != nil && strings.Contains(p.Status.Progress.Step, "Initialize first control plane node")
	})
	s.AwaitOn("host-1", insideKubeadm, time.Minute)
	rival := s.Apply(oneMaster(s, "rival"))
	site.Await(s, &v1alpha1.ProvisioningList{}, "the rival to wait", time.Minute, func(p *v1alpha1.Provisioning) bool {
		return p.Name == rival.Name && site.NotReady("HostsNotAvailable")(p)
	})
	if held := s.Holders(); held["host-1"] != "edge-5" {
		t.Errorf("hosts held: %v, want host-1 by edge-5", held)
	}
	if err := s.Delete(context.Background(), rival); err != nil {
		t.Fatal(err)
	}
	site.AwaitGone(s, &v1alpha1.ProvisioningList{}, rival, time.Minute)
	deleteAndReset(t, s, p)
	checkEnded(t, s.Runs())

	again := s.Apply(oneMaster(s, "edge-5", pauseInsideKubeadm))
	ca := killPlaybook(t, s, again, "host-1", insideKubeadm)
	s.On("host-1", "touch /run/lab-continue") // for the killed playbook's kubeadm, which is still running, and for the next one
	awaitRetried(t, s, again, "host-1", ca)
}
