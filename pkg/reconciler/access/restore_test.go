package access

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/akraino-icn/bpa/pkg/access"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// TestRestoredCluster: nothing is done in a cluster whose restore is not complete. After it, the health
// checks get their rights again, and a user that a rotation had replaced before the restore loses the
// rights that the backup has given back.
func TestRestoredCluster(t *testing.T) {
	w := newWorld(t)
	w.install()
	w.settle()
	old := w.admin()
	rotate(w, "one")
	w.settle()
	w.atRest()
	rotated, revoked := w.admin(), w.secret(contract.KubeconfigName(name)).Annotations[contract.AnnotationRevoked]
	if rotated.name() == old.name() {
		t.Fatal("the kubeconfig was not rotated")
	}

	u, _ := access.ParseUser(old.name())
	w.app.add(access.AdminBinding(name, u)) // etcd is that of the backup, with the rights of the old user
	if err := w.app.tracker.Delete(rbacv1.SchemeGroupVersion.WithResource("clusterrolebindings"), "", w.health().user.Binding()); err != nil {
		t.Fatal(err)
	}
	rotate(w, "two")
	for _, state := range []v1alpha1.RestoreState{v1alpha1.RestoreRunning, v1alpha1.RestoreIncomplete} {
		w.p.Status.Restore = &v1alpha1.RestoreStatus{Backup: "b-1", State: state}
		w.deny(true)
		w.calls()
		if w.visit(); len(w.app.calls)+len(w.site.Actions()) > 0 {
			t.Errorf("while the restore is %s: %q", state, w.calls())
		}
	}

	w.p.Status.Restore.State = v1alpha1.RestoreComplete
	w.p.Status.Run.Name = "edge-1-restore-2"
	rotate(w, "one")
	for range 2 { // the rights of the health checks, and the revocation
		w.visit()
	}
	w.deny(false)
	w.settle()
	if got := w.secret(contract.KubeconfigName(name)).Annotations[contract.AnnotationRevoked]; got == revoked {
		t.Errorf("the revocation was not proved again: %s", got)
	}
	w.atRest()
	if w.app.allows(old.Leaf) {
		t.Error("the kubeconfig of before the rotation works again")
	}
}
