package access

import (
	"bytes"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgotesting "k8s.io/client-go/testing"
	duckv1 "knative.dev/pkg/apis/duck/v1"

	"github.com/akraino-icn/bpa/pkg/access"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
)

func conflict(secret string) error {
	return apierrors.NewConflict(corev1.Resource("secrets"), secret, errors.New("it was changed"))
}

func rotate(w *world, value string) {
	w.p.Annotations = map[string]string{contract.AnnotationRotateKubeconfig: value}
}

// atRest checks that exactly the users of the two kubeconfigs have rights, that both kubeconfigs work,
// and that nothing more is asked.
func (w *world) atRest() {
	w.t.Helper()
	want := []string{w.admin().name(), w.health().name()}
	slices.Sort(want)
	if diff := cmp.Diff(want, w.app.users()); diff != "" {
		w.t.Errorf("users with rights (-want +got):\n%s", diff)
	}
	for _, s := range []*stored{w.admin(), w.health()} {
		if !w.app.allows(s.Leaf) || len(s.Leaf.Subject.Organization) > 0 {
			w.t.Errorf("kubeconfig of %s: works %t", s.Leaf.Subject, w.app.allows(s.Leaf))
		}
	}
	if u := requested(w.secret(contract.KubeconfigKeyName(name)), access.Admin); u != w.admin().name() {
		w.t.Errorf("the stored key is of %q, want that of the kubeconfig, %s", u, w.admin().name())
	}
	w.calls()
	w.restart()
	if w.visit(); len(w.app.calls)+len(w.site.Actions()) > 0 {
		w.t.Errorf("calls in a steady world: %q", w.calls())
	}
}

// TestHealthAccess: an installed cluster gets a kubeconfig for health checks. Its user stays when the
// Secret is renewed, and loses its rights when the Secret is deleted.
func TestHealthAccess(t *testing.T) {
	w := newWorld(t)
	w.install()
	admin := w.admin()
	after := w.settle()
	w.atRest()
	if got := w.admin(); !bytes.Equal(got.Certificate, admin.Certificate) {
		t.Error("the kubeconfig was changed")
	}
	if due := access.RenewAt(admin.Leaf).Sub(w.clock.Now()); (after - due).Abs() > time.Minute {
		t.Errorf("the next check is after %s, want half of the life: %s", after, due)
	}
	health := w.health()
	if !strings.Contains(string(w.secret(contract.HealthKubeconfigName(name)).Data["value"]), "edge-1-health@edge-1") || health.user.Kind != access.Health {
		t.Errorf("user %s", health.name())
	}

	if err := w.site.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("secrets"), site, contract.HealthKubeconfigName(name)); err != nil {
		t.Fatal(err)
	}
	w.settle()
	w.atRest()
	if w.health().name() == health.name() || w.app.allows(health.Leaf) {
		t.Errorf("the deleted kubeconfig of %s still works", health.name())
	}
}

// TestRenewal: at half of their life both kubeconfigs get new keys and certificates, and keep users.
func TestRenewal(t *testing.T) {
	w := newWorld(t)
	w.install()
	w.clock.SetTime(w.clock.Now().Add(w.settle() - time.Minute))
	admin, health := w.admin(), w.health()
	w.calls()
	w.visit()
	if calls := w.calls(); len(calls) > 0 {
		t.Errorf("calls before half of the life: %q", calls)
	}
	w.events()
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.settle()
	w.atRest()
	for what, pair := range map[string][2]*stored{"kubeconfig": {admin, w.admin()}, "health": {health, w.health()}} {
		before, after := pair[0], pair[1]
		if before.name() != after.name() || bytes.Equal(before.Key, after.Key) || after.Leaf.NotAfter.Sub(before.Leaf.NotAfter) < life/3 {
			t.Errorf("%s: %s until %s, then %s until %s, same key %t", what, before.name(), before.Leaf.NotAfter, after.name(), after.Leaf.NotAfter, bytes.Equal(before.Key, after.Key))
		}
		if before.Server != after.Server || !bytes.Equal(before.CA, after.CA) {
			t.Errorf("%s: server or CA has changed", what)
		}
	}
	if events := w.events(); len(events) != 1 || !strings.Contains(events[0], "Normal KubeconfigRenewed the kubeconfig in Secret edge-1-kubeconfig is valid until ") {
		t.Errorf("events %q", events)
	}
}

// TestRotation: a new value of the annotation gives the kubeconfig another user, and the old file is
// refused. The same value does nothing.
func TestRotation(t *testing.T) {
	w := newWorld(t)
	w.install()
	w.settle()
	old, health := w.admin(), w.health()
	w.events()
	rotate(w, "one")
	w.settle()
	w.atRest()
	if w.app.allows(old.Leaf) || w.admin().name() == old.name() {
		t.Errorf("the old kubeconfig of %s still works", old.name())
	}
	if w.health().name() != health.name() {
		t.Error("the user of health checks was replaced too")
	}
	secret := w.secret(contract.KubeconfigName(name))
	if secret.Annotations[contract.AnnotationRotated] != "one" || !access.RevokedFor(secret.Annotations[contract.AnnotationRevoked], w.admin().name()) {
		t.Errorf("annotations %v", secret.Annotations)
	}
	if diff := cmp.Diff([]string{
		"Normal KubeconfigUserReplaced Secret edge-1-kubeconfig has the new user " + w.admin().name() + ", valid until " + day(w.admin().Leaf.NotAfter),
		"Normal KubeconfigsRevoked the cluster refuses all kubeconfigs of " + old.name() + " now",
	}, w.events()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	second := w.admin()
	w.p.Annotations = nil // the annotation is removed
	w.atRest()
	rotate(w, "two")
	w.settle()
	w.atRest()
	if w.app.allows(second.Leaf) {
		t.Error("the second kubeconfig still works")
	}
}

// TestUserInAGroup: a kubeconfig whose user is in a group stays until half of its life, or until a
// rotation. Then it gets a user of its own, and the event says until when the old file works.
func TestUserInAGroup(t *testing.T) {
	for _, byRotation := range []bool{true, false} {
		w := newWorld(t)
		w.installForeign()
		after := w.settle()
		old := w.admin()
		if old.own || old.name() != "edge-1-admin" {
			t.Fatalf("user %s", old.name())
		}
		w.events()
		if byRotation {
			rotate(w, "now")
		} else {
			w.clock.SetTime(w.clock.Now().Add(after + time.Hour))
		}
		w.settle()
		w.atRest()
		if events := w.events(); len(events) == 0 || !strings.Contains(events[0], "copies of the previous kubeconfig work until "+day(old.Leaf.NotAfter)) {
			t.Errorf("events %q", events)
		}
	}
}

// TestEveryWriteCanFail: each write fails once, before or after its effect, and the controller restarts.
// The stored kubeconfig works at every moment (settle checks it), and the end is the same: the old file
// is refused, and no user is left over.
func TestEveryWriteCanFail(t *testing.T) {
	scenario := func(t *testing.T, n int, how fault) (writes int) {
		w := newWorld(t)
		w.install()
		w.settle()
		old := w.admin()
		w.site.ClearActions()
		fail := func(clientgotesting.Action) fault {
			if writes++; writes == n {
				w.restart()
				return how
			}
			return none
		}
		w.app.fault = fail
		w.site.PrependReactor("*", "secrets", func(action clientgotesting.Action) (bool, runtime.Object, error) {
			if v := action.GetVerb(); v != "create" && v != "update" {
				return false, nil, nil
			}
			switch fail(action) {
			case before:
				return true, nil, errLost
			case after:
				_, _, err := clientgotesting.ObjectReaction(w.site.Tracker())(action)
				return true, nil, errors.Join(errLost, err)
			}
			return false, nil, nil
		})
		rotate(w, "now")
		if err := w.site.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("secrets"), site, contract.HealthKubeconfigName(name)); err != nil {
			t.Fatal(err)
		}
		w.settle()
		w.atRest()
		if w.app.allows(old.Leaf) {
			t.Errorf("write %d fails: the old kubeconfig still works", n)
		}
		return writes
	}
	total := scenario(t, 0, none)
	t.Logf("%d writes", total)
	if total < 12 {
		t.Fatalf("only %d writes", total)
	}
	for n := 1; n <= total; n++ {
		for _, how := range []fault{before, after} {
			scenario(t, n, how)
		}
	}
}

// TestRotationDuringARun: the rotation waits for the end of the run. If a run has given rights to a
// revoked user nevertheless, it loses them when the run has ended.
func TestRotationDuringARun(t *testing.T) {
	w := newWorld(t)
	w.install()
	w.settle()
	old := w.admin()
	w.p.Status.Run = &v1alpha1.RunStatus{Name: "edge-1-add-nodes-2"}
	rotate(w, "now")
	w.settle()
	if got := w.admin(); got.name() != old.name() || !w.app.allows(old.Leaf) {
		t.Fatal("the user was replaced during the run")
	}
	w.p.Status.Run.CompletionTime = &metav1.Time{Time: w.clock.Now()}
	w.settle()
	w.atRest()

	w.p.Status.Run = &v1alpha1.RunStatus{Name: "edge-1-add-nodes-3"}
	w.app.add(access.AdminBinding(name, old.user)) // the run was started in the moment of the rotation
	w.settle()
	w.p.Status.Run.CompletionTime = &metav1.Time{Time: w.clock.Now()}
	w.settle()
	w.atRest()
	if w.app.allows(old.Leaf) {
		t.Error("the old kubeconfig works again after the run")
	}
}

// TestRotationBesideARun: a run without the task collect-kubeconfig gives no rights to the user of the
// kubeconfig, so a leaked one is revoked during such a run. The user of the run's own task keeps its rights
// until the run has ended. A run whose operation is not known may collect a kubeconfig.
func TestRotationBesideARun(t *testing.T) {
	for operation, waits := range map[string]bool{
		contract.OperationPlugins: false, contract.OperationSoftware: false, contract.OperationUpgradeNodes: false, contract.OperationConfigure: false,
		contract.OperationAddNodes: true, contract.OperationCollect: true, "of-a-newer-build": true, "": true,
	} {
		t.Run(operation, func(t *testing.T) {
			w := newWorld(t)
			w.install()
			w.settle()
			old := w.admin()
			w.p.Status.Run = &v1alpha1.RunStatus{Name: "edge-1-run-2", Operation: operation}
			task, err := access.NewUser(name, access.Plugins, rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			w.app.add(access.AdminBinding(name, task))
			w.calls()
			if w.settle(); len(w.calls()) > 0 {
				t.Errorf("the start of a run causes calls: %q", w.calls())
			}
			rotate(w, "now")
			w.settle()
			if w.app.allows(old.Leaf) != waits {
				t.Errorf("the old kubeconfig works during the run: %t", !waits)
			}
			if !slices.Contains(w.app.users(), task.String()) {
				t.Error("the user of the active run has lost its rights")
			}
			w.p.Status.Run.CompletionTime = &metav1.Time{Time: w.clock.Now()}
			w.settle()
			w.atRest()
			if w.app.allows(old.Leaf) {
				t.Error("the old kubeconfig works after the run")
			}
		})
	}
}

// TestSilentCluster: one event for each failure, growing pauses, and another rotation is tried at once.
func TestSilentCluster(t *testing.T) {
	w := newWorld(t)
	w.install()
	w.settle()
	w.events()
	w.app.silent = errors.New("no route to host")
	rotate(w, "one")
	var pauses []time.Duration
	for range 9 {
		after := w.visit()
		pauses = append(pauses, after)
		if again := w.visit(); again != after {
			t.Errorf("a change of the Provisioning causes another attempt: after %s instead of %s", again, after)
		}
		w.clock.SetTime(w.clock.Now().Add(after))
	}
	if pauses[0] != firstRetry || pauses[1] != 2*firstRetry || pauses[8] != longestRetry {
		t.Errorf("pauses %v", pauses)
	}
	events := w.events()
	if len(events) != 1 || !strings.Contains(events[0], "Warning KubeconfigNotMaintained cannot give the kubeconfig a new user: ") ||
		!strings.Contains(events[0], "no route to host") {
		t.Errorf("events %q", events)
	}
	w.visit()
	rotate(w, "two")
	w.calls()
	if w.visit(); len(w.app.calls) == 0 {
		t.Error("another rotation waits for the pause of the first one")
	}
	w.app.silent = nil
	w.settle()
	w.atRest()
	if got := w.secret(contract.KubeconfigName(name)).Annotations[contract.AnnotationRotated]; got != "two" {
		t.Errorf("rotated %q", got)
	}
}

// TestNothingToDo: no call for a Provisioning that has no installed cluster or no usable kubeconfig.
func TestNothingToDo(t *testing.T) {
	for what, change := range map[string]func(*world){
		"not installed": func(w *world) { w.p.Status.InstalledDigest = "" },
		"deleting":      func(w *world) { w.p.DeletionTimestamp = &metav1.Time{Time: w.clock.Now()} },
		"expired":       func(w *world) { w.clock.SetTime(w.clock.Now().Add(life)) },
		"no Secret": func(w *world) {
			if err := w.site.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("secrets"), site, contract.KubeconfigName(name)); err != nil {
				w.t.Fatal(err)
			}
		},
		"a program in the kubeconfig": func(w *world) {
			w.edit(contract.KubeconfigName(name), func(s *corev1.Secret) {
				text := string(s.Data[resources.KeyKubeconfig])
				a, b := strings.Index(text, "client-certificate-data"), strings.Index(text, "client-key-data")
				s.Data[resources.KeyKubeconfig] = []byte(text[:a] + "exec: {apiVersion: client.authentication.k8s.io/v1, command: touch, interactiveMode: Never}\n    " + text[b:])
			})
		},
		"of another owner": func(w *world) {
			w.edit(contract.KubeconfigName(name), func(s *corev1.Secret) { s.OwnerReferences = nil })
		},
	} {
		w := newWorld(t)
		w.install()
		change(w)
		rotate(w, "now")
		if after := w.visit(); after != 0 || len(w.calls()) > 0 {
			t.Errorf("%s: calls, or a check after %s", what, after)
		}
	}
}

func (w *world) edit(name string, change func(*corev1.Secret)) {
	w.t.Helper()
	s := w.secret(name)
	change(s)
	if err := w.site.Tracker().Update(corev1.SchemeGroupVersion.WithResource("secrets"), s, site); err != nil {
		w.t.Fatal(err)
	}
}

// TestEndpointMoves: the kubeconfig for health checks follows the address of the kubeconfig, without a
// call to the cluster.
func TestEndpointMoves(t *testing.T) {
	w := newWorld(t)
	w.install()
	w.settle()
	w.edit(contract.KubeconfigName(name), func(s *corev1.Secret) {
		moved, _, err := resources.MoveKubeconfig(s, "10.0.0.2")
		if err != nil {
			t.Fatal(err)
		}
		s.Data = moved.Data
	})
	w.calls()
	w.settle()
	if len(w.app.calls) > 0 || w.health().Server != "https://10.0.0.2:6443" {
		t.Errorf("server %s after calls %q", w.health().Server, w.app.calls)
	}
	w.atRest()
}

// TestForeignHealthSecret: a Secret of that name that somebody else made stays, and the event says so.
func TestForeignHealthSecret(t *testing.T) {
	w := newWorld(t)
	w.install()
	if err := w.site.Tracker().Add(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: site, Name: contract.HealthKubeconfigName(name)}}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		w.clock.SetTime(w.clock.Now().Add(w.visit()))
	}
	if events := w.events(); len(events) != 1 || !strings.Contains(events[0], "Secret edge-1-health exists and does not belong to this Provisioning") {
		t.Errorf("events %q", events)
	}
	if slices.ContainsFunc(w.app.calls, func(c string) bool { return strings.HasPrefix(c, "create") }) {
		t.Errorf("calls %q", w.app.calls)
	}
}

// TestLastYearOfTheCA: when the cluster's CA is about to expire, a renewal gains nothing. It is not
// repeated without end, and an event says why.
func TestLastYearOfTheCA(t *testing.T) {
	w := newWorld(t)
	w.app.ca.NotAfter = w.clock.Now().Add(life)
	w.install()
	w.clock.SetTime(w.clock.Now().Add(w.settle() + time.Hour))
	w.events()
	w.visit()
	if events := w.events(); len(events) != 1 || !strings.Contains(events[0], "check when its CA expires") {
		t.Errorf("events %q", events)
	}
}

// TestConflict: another writer has changed the kubeconfig meanwhile, such as the move of its endpoint.
// The controller decides again, and the change of the other writer stays.
func TestConflict(t *testing.T) {
	w := newWorld(t)
	w.install()
	w.settle()
	w.events()
	moved := false
	w.site.PrependReactor("update", "secrets", func(action clientgotesting.Action) (bool, runtime.Object, error) {
		s := action.(clientgotesting.UpdateAction).GetObject().(*corev1.Secret)
		if s.Name != contract.KubeconfigName(name) || moved {
			return false, nil, nil
		}
		moved = true
		w.edit(s.Name, func(s *corev1.Secret) {
			m, _, err := resources.MoveKubeconfig(s, "10.0.0.2")
			if err != nil {
				t.Fatal(err)
			}
			s.Data = m.Data
		})
		return true, nil, conflict(s.Name)
	})
	rotate(w, "now")
	w.settle()
	w.atRest()
	if w.admin().Server != "https://10.0.0.2:6443" {
		t.Errorf("the move was lost: %s", w.admin().Server)
	}
	for _, e := range w.events() {
		if strings.HasPrefix(e, "Warning") {
			t.Errorf("event %q", e)
		}
	}
}

// TestHostileError: a text of the cluster's server is cut before it is logged, recorded and remembered.
func TestHostileError(t *testing.T) {
	w := newWorld(t)
	w.install()
	w.settle()
	w.events()
	w.app.silent = errors.New("it says\n" + strings.Repeat("a", 200<<10))
	rotate(w, "now")
	w.visit()
	events := w.events()
	if len(events) != 1 || len(events[0]) > 2*mostFailure || strings.Contains(events[0], "\n") || !strings.Contains(events[0], "it says a") || !strings.Contains(events[0], "aaa...") {
		t.Errorf("events %.300q", events)
	}
	for _, a := range w.r.retries.all[site+"/"+name] {
		if len(a.message) > mostFailure {
			t.Errorf("%d bytes are remembered", len(a.message))
		}
	}
}

// TestRevokedByName: somebody with a copy of the old kubeconfig removes the labels of its binding, or makes
// another binding. The event and the annotation say that the old user is revoked only when it is.
func TestRevokedByName(t *testing.T) {
	w := newWorld(t)
	w.install()
	w.settle()
	old := w.admin()
	b := access.AdminBinding(name, old.user)
	b.Labels = nil
	bindings := rbacv1.SchemeGroupVersion.WithResource("clusterrolebindings")
	if err := w.app.tracker.Update(bindings, b, ""); err != nil {
		t.Fatal(err)
	}
	other := access.AdminBinding(name, old.user)
	other.Name, other.Labels = "mine", nil
	w.app.add(other)
	w.events()
	rotate(w, "now")
	for range 6 {
		w.clock.SetTime(w.clock.Now().Add(w.visit()))
	}
	if revoked := w.secret(contract.KubeconfigName(name)).Annotations[contract.AnnotationRevoked]; access.RevokedFor(revoked, w.admin().name()) {
		t.Errorf("the kubeconfig counts as rotated, and the old user has rights: %s", revoked)
	}
	if events := strings.Join(w.events(), "\n"); !strings.Contains(events, "ClusterRoleBinding mine ("+old.name()+"): delete them there") || strings.Contains(events, "KubeconfigsRevoked") {
		t.Errorf("events %s", events)
	}
	rotate(w, "again") // waits, so that the old user is not forgotten
	if admin := w.admin().name(); w.visit() == 0 || w.admin().name() != admin {
		t.Error("the second rotation does not wait for the first one")
	}
	if err := w.app.tracker.Delete(bindings, "", "mine"); err != nil {
		t.Fatal(err)
	}
	w.settle()
	w.atRest()
}

// TestRevokeKeepsALateUser: a Secret for health checks that is written after the decision to revoke.
func TestRevokeKeepsALateUser(t *testing.T) {
	w := newWorld(t)
	w.install()
	w.settle()
	w.p.Status.Run = &v1alpha1.RunStatus{Name: "edge-1-add-nodes-2", CompletionTime: &metav1.Time{Time: w.clock.Now()}}
	health := w.health()
	stored := w.secret(contract.HealthKubeconfigName(name))
	w.edit(stored.Name, func(s *corev1.Secret) { s.Data = nil })
	w.app.onList = func() { w.edit(stored.Name, func(s *corev1.Secret) { s.Data = stored.Data }) }
	w.visit()
	if !w.app.allows(health.Leaf) {
		t.Error("the user of the health checks has lost its rights")
	}
}

// TestSignerIsOff: an action that fails delays no other one.
func TestSignerIsOff(t *testing.T) {
	w := newWorld(t)
	w.install()
	after := w.settle()
	old := w.admin()
	rotate(w, "now")
	w.visit() // the new user
	w.clock.SetTime(w.clock.Now().Add(after + time.Hour))
	w.app.fault = func(a clientgotesting.Action) fault {
		if a.GetResource().Resource == "certificatesigningrequests" {
			return before
		}
		return none
	}
	rotate(w, "again")
	for range 6 {
		w.clock.SetTime(w.clock.Now().Add(w.visit()))
	}
	if w.app.allows(old.Leaf) {
		t.Error("the replaced user has rights while the signer is off")
	}
	w.app.fault = nil
	w.settle()
	w.atRest()
}

// TestLostLabel: a Secret without the label by which the cache selects Secrets gets it again, and the
// API server is not asked every second.
func TestLostLabel(t *testing.T) {
	for _, secret := range []string{contract.HealthKubeconfigName(name), contract.KubeconfigKeyName(name)} {
		w := newWorld(t)
		w.install()
		w.settle()
		w.edit(secret, func(s *corev1.Secret) { s.Labels = nil })
		first := w.visit()
		if got := w.secret(secret).Labels[contract.LabelCluster]; got != name {
			t.Errorf("%s: label %q", secret, got)
		}
		w.edit(secret, func(s *corev1.Secret) { s.Labels = nil })
		w.site.PrependReactor("update", "secrets", func(clientgotesting.Action) (bool, runtime.Object, error) { return true, nil, errLost })
		w.calls()
		if again := w.visit(); again != first || len(w.calls()) > 0 {
			t.Errorf("%s: it is tried again at once", secret)
		}
		w.clock.SetTime(w.clock.Now().Add(first))
		if again := w.visit(); again != 2*first {
			t.Errorf("%s: the second pause is %s after %s", secret, again, first)
		}
	}
}

// deny makes the status say that the cluster denies the health checks.
func (w *world) deny(denied bool) {
	w.p.Status.Conditions = nil
	if denied {
		w.p.Status.Conditions = duckv1.Conditions{{Type: v1alpha1.ConditionClusterHealthy, Status: corev1.ConditionUnknown, Reason: v1alpha1.ReasonAccessDenied}}
	}
}

// TestHealthAccessIsRepaired: the binding of the health checks was deleted.
func TestHealthAccessIsRepaired(t *testing.T) {
	w := newWorld(t)
	w.install()
	w.settle()
	health := w.health()
	if err := w.app.tracker.Delete(rbacv1.SchemeGroupVersion.WithResource("clusterrolebindings"), "", health.user.Binding()); err != nil {
		t.Fatal(err)
	}
	w.deny(true)
	after := w.visit()
	if !w.app.allows(w.health().Leaf) || w.health().name() != health.name() {
		t.Error("the health checks are still denied")
	}
	w.calls()
	if again := w.visit(); after != firstRetry || again != after || len(w.calls()) > 0 {
		t.Errorf("it is checked again after %s and %s, without a look at the cluster", after, again)
	}
	w.deny(false)
	w.settle()
	w.atRest()
}

// TestDeniedKubeconfig: etcd was restored, or the bindings were deleted. The Secret says that the cluster
// denies the kubeconfig, the key is replaced once, and nothing is asked without a pause. If the cluster
// accepts the kubeconfig again, everything is as before.
func TestDeniedKubeconfig(t *testing.T) {
	for _, noHealth := range []bool{false, true} {
		w := newWorld(t)
		w.install()
		w.settle()
		w.events()
		admin := w.admin()
		key := w.secret(contract.KubeconfigKeyName(name))
		bindings := rbacv1.SchemeGroupVersion.WithResource("clusterrolebindings")
		for _, b := range w.app.bindings() {
			if err := w.app.tracker.Delete(bindings, "", b.Name); err != nil {
				t.Fatal(err)
			}
		}
		if w.deny(!noHealth); noHealth { // the user has deleted it: making another one fails
			if err := w.site.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("secrets"), site, contract.HealthKubeconfigName(name)); err != nil {
				t.Fatal(err)
			}
		}
		for range 5 {
			w.clock.SetTime(w.clock.Now().Add(w.visit()))
		}
		secret, next := w.secret(contract.KubeconfigName(name)), w.secret(contract.KubeconfigKeyName(name))
		if secret.Annotations[contract.AnnotationDenied] == "" || bytes.Equal(key.Data[resources.KeyCSR], next.Data[resources.KeyCSR]) {
			t.Errorf("annotations %v, the same key %t", secret.Annotations, bytes.Equal(key.Data[resources.KeyCSR], next.Data[resources.KeyCSR]))
		}
		if events := strings.Join(w.events(), "\n"); strings.Count(events, "Warning") > 2 || !strings.Contains(events, "denies its user "+admin.name()) || !strings.Contains(events, "`kubectl bpa retry edge-1 -n site`") {
			t.Errorf("events %s", events)
		}
		w.clock.SetTime(w.clock.Now().Add(longestRetry))
		w.visit()
		if again := w.secret(contract.KubeconfigKeyName(name)); !bytes.Equal(again.Data[resources.KeyCSR], next.Data[resources.KeyCSR]) {
			t.Error("the key was replaced twice, so the certificate of a run can never fit")
		}
		w.app.add(access.AdminBinding(name, admin.user)) // a user repairs it
		w.deny(false)
		w.clock.SetTime(w.clock.Now().Add(longestRetry))
		w.settle()
		if w.secret(contract.KubeconfigName(name)).Annotations[contract.AnnotationDenied] != "" || !w.app.allows(w.admin().Leaf) {
			t.Error("the kubeconfig still counts as denied")
		}
	}
}
