//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/test/site"
)

// TestDeadHost deletes a cluster while one of its two hosts is off. The other host is reset, and
// both are released. A new Provisioning does not get the host with the old node, and its condition
// names the command that resets the host. When the host is back and this command has run, the new
// Provisioning becomes Ready. Its own deletion cannot reset the hosts, because the SSH key is gone.
// With the policy Retain it releases them with their marks.
func TestDeadHost(t *testing.T) {
	s := site.NewTenant(t, "e2e-deadhost", 2, 0)
	p := s.Apply(s.Provisioning("edge-15",
		site.Master("master-1", v1alpha1.Master{MACAddress: site.MAC(s.MAC("host-1"))}),
		site.Worker("worker-1", v1alpha1.Worker{MACAddress: site.MAC(s.MAC("host-2"))})))
	installed := site.Await(s, &v1alpha1.ProvisioningList{}, "edge-15 to be Ready", installLimit, site.Ready)
	deleteWithDeadHost(t, s, p, "host-2")

	next := s.Apply(exchanged(s, "edge-16", installed))
	awaitResetCommand(t, s, next, "host-2")
	s.PowerOn("host-2")
	resetByHand(t, s, "host-2")
	ready := site.Await(s, &v1alpha1.ProvisioningList{}, "edge-16 to be Ready", installLimit, site.Ready)
	checkNodes(t, s, ready)
	checkCluster(t, s, ready, 2)

	deleteWithoutKey(t, s, next)
}

// resetByHand runs the command of the condition as an administrator of the hosts, and checks that the host has no mark afterwards.
func resetByHand(t *testing.T, s *site.Site, host string) {
	t.Helper()
	out, err := bpaIn(t, s.Admin(), s.Pool, resetLimit, "hosts", "reset", host, "--yes")
	t.Logf("kubectl bpa hosts reset %s:\n%s", host, out)
	if err != nil {
		t.Fatalf("kubectl bpa hosts reset %s: %v", host, err)
	}
	if mark, marked := s.Marks(contract.AnnotationUsedBy)[host]; marked && strings.Contains(mark, "edge-15") {
		t.Errorf("%s is still marked as used by %s", host, mark)
	}
}

// deleteWithoutKey deletes the Provisioning after the SSH key was lost. The deletion waits with its
// hosts, and says how it can go on. With the policy Retain it ends, and all hosts are marked.
func deleteWithoutKey(t *testing.T, s *site.Site, p *v1alpha1.Provisioning) {
	t.Helper()
	hosts := hostsOf(s, p)
	s.Admin().Kubectl("delete", "secret", "ssh-key")
	if err := s.Delete(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	site.Await(s, &v1alpha1.ProvisioningList{}, "the deletion to say why it waits", time.Minute, func(now *v1alpha1.Provisioning) bool {
		message := now.Status.GetCondition("Ready").GetMessage()
		return now.DeletionTimestamp != nil && strings.Contains(message, "Secret ssh-key with the private key to the hosts does not exist") && strings.Contains(message, `"deletionPolicy":"Retain"`)
	})
	if diff := cmp.Diff(hosts, hostsOf(s, p)); diff != "" {
		t.Errorf("hosts that the waiting deletion holds (-want +got):\n%s", diff)
	}

	s.Change(p, func(p *v1alpha1.Provisioning) { p.Spec.DeletionPolicy = v1alpha1.DeletionRetain })
	site.AwaitGone(s, &v1alpha1.ProvisioningList{}, p, time.Minute)
	user, want := contract.User{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID)}, map[string]string{}
	for _, host := range hosts {
		want[host] = user.String()
	}
	if diff := cmp.Diff(want, s.Marks(contract.AnnotationUsedBy)); diff != "" {
		t.Errorf("hosts marked as used (-want +got):\n%s", diff)
	}
	if held := s.Holders(); len(held) != 0 {
		t.Errorf("hosts are still held after the deletion: %v", held)
	}
}
