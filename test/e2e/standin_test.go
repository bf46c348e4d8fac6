//go:build e2e

package e2e

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/test/site"
)

// TestStandIn installs a cluster with the stand-in playbooks, as make demo does where kubespray cannot be
// had. They only install: an edit that needs more fails at once, changes nothing, and says what to do. The hosts
// are in the namespace of the Provisioning. No text of a Secret is anywhere else.
func TestStandIn(t *testing.T) {
	s := site.New(t, "e2e-stand-in", 2, 0)
	secrets, withSecrets := plantCanaries(t, s)
	p := s.Apply(s.Provisioning("edge-3", masters(1), withSecrets, func(p *v1alpha1.Provisioning) {
		p.Spec.Kubernetes.NetworkPlugin = "custom_cni" // the only one that the stand-in installs: test/lab/modules/network
		if os.Getenv("KUBESPRAY") != "" {              // else these Tasks have no release
			p.Spec.Kubespray.Release = "stand-in"
		}
	}))
	ready := site.Await(s, &v1alpha1.ProvisioningList{}, "edge-3 to be Ready", installLimit, site.Ready)
	checkCluster(t, s, ready, 1)
	if !strings.HasPrefix(ready.Status.Engine, "stand-in ") {
		t.Errorf("status.engine is %q, want the stand-in playbooks", ready.Status.Engine)
	}
	secrets.check(ready, "bmc", "registry")

	s.Change(p, func(p *v1alpha1.Provisioning) { workers(1)(p) })
	refused := site.Await(s, &v1alpha1.ProvisioningList{}, "the refusal", 3*time.Minute, site.NotReady("InvalidRequest"))
	if f := refused.Status.Failure; f == nil || !strings.Contains(f.Message, "only install and reset clusters") || !strings.Contains(f.Message, "make kubespray") {
		t.Errorf("failure %+v: want one that names the stand-in, and make kubespray", f)
	}
	checkCluster(t, s, refused, 1)
	deleteAndReset(t, s, p)
}
