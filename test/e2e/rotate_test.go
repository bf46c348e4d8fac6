//go:build e2e

package e2e

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/test/site"
)

// revokeLimit is the time in which an API server must see that a binding was deleted.
const revokeLimit = 5 * time.Second

// checkRotation rotates the kubeconfig of a cluster, as a user does who reads it: bpa-edit contains no right to Secrets. The copy from before is refused, the
// new one works, and a health kubeconfig exists that can read nodes and no Secrets.
func checkRotation(t *testing.T, s *site.Site, p *v1alpha1.Provisioning) {
	t.Helper()
	old := kubeconfigOf(t, s, p)
	if out, err := site.Kubectl(old, "", "get", "secrets", "-A"); err != nil {
		t.Fatalf("before the rotation: %v\n%s", err, out)
	}
	next := filepath.Join(t.TempDir(), "rotated")
	begin := time.Now()
	out, err := bpaWithin(t, s.Admin(), 3*time.Minute, "kubeconfig", p.Name, "--rotate", "--to", next)
	t.Logf("kubectl bpa kubeconfig --rotate, %s:\n%s", time.Since(begin).Round(100*time.Millisecond), out)
	if err != nil || !strings.Contains(string(out), "The cluster refuses the old user bpa:"+p.Name+":admin:") {
		t.Fatalf("kubectl bpa kubeconfig --rotate: %v", err)
	}
	var last string
	err = wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, revokeLimit, true, func(context.Context) (bool, error) {
		last, err = site.Kubectl(old, "", "get", "secrets", "-A")
		return err != nil && strings.Contains(last, "Forbidden"), nil
	})
	if err != nil {
		t.Errorf("the old kubeconfig is not refused: %s", last)
	}
	if out, err := site.Kubectl(next, "", "get", "secrets", "-A"); err != nil {
		t.Errorf("the new kubeconfig: %v\n%s", err, out)
	}
	stored := site.Await(s.Admin(), &corev1.SecretList{}, "the kubeconfig for health checks", time.Minute, func(secret *corev1.Secret) bool {
		return secret.Name == contract.HealthKubeconfigName(p.Name) && len(secret.Data["value"]) > 0
	})
	health := writeKubeconfig(t, stored.Data["value"])
	if out, err := site.Kubectl(health, "", "get", "nodes"); err != nil {
		t.Errorf("the kubeconfig for health checks: %v\n%s", err, out)
	}
	if out, err := site.Kubectl(health, "", "get", "secrets", "-A"); err == nil || !strings.Contains(out, "Forbidden") {
		t.Errorf("the kubeconfig for health checks reads Secrets: %v\n%s", err, out)
	}
}
