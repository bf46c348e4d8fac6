package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/backup"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/settings"
)

// backedUp returns a Provisioning with an installed cluster, of which these hosts are lost, and the objects
// of the site: a Backup b-1 of three hours ago, and its key.
func backedUp(t *testing.T, lost ...string) (*v1alpha1.Provisioning, []client.Object) {
	t.Helper()
	identity, recipient, err := backup.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	p, objects := changing(t)
	objects = slices.DeleteFunc(objects, func(o client.Object) bool {
		_, host := o.(*metal3.BareMetalHost)
		return host && slices.Contains(lost, o.GetName())
	})
	b := backupOf("b-1", "edge-1", -3, isStored)
	b.Status.StartTime, b.Status.SHA256, b.Status.Recipient = &metav1.Time{Time: noon.Add(-3 * time.Hour)}, "abc", recipient
	b.Status.ClusterUID = p.ClusterUID()
	return p, append(objects, b,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "site-a", Name: contract.BackupKeyName("edge-1")}, Data: map[string][]byte{backup.KeyIdentity: []byte(identity)}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: settings.Namespace, Name: settings.Name}, Data: map[string]string{"depot-url": "https://10.60.0.1:5443"}},
	)
}

// restoreOf returns the annotation that requests a restore; empty: there is none.
func (w *terminal) restoreOf() string {
	w.t.Helper()
	p := &v1alpha1.Provisioning{}
	if err := w.cluster.Get(w.t.Context(), client.ObjectKey{Namespace: "site-a", Name: "edge-1"}, p); err != nil {
		w.t.Fatal(err)
	}
	return p.Annotations[contract.AnnotationRestore]
}

// begun lets a restore of Backup b-1 be incomplete.
func begun(_ *v1alpha1.Provisioning, all []client.Object) []client.Object {
	for _, o := range all {
		if cm, ok := o.(*corev1.ConfigMap); ok && cm.Data[contract.KeyInstalled] != "" {
			cm.Data[contract.KeyInstalled] = strings.Replace(cm.Data[contract.KeyInstalled], "{", `{"restoring":"b-1 yesterday",`, 1)
		}
	}
	return all
}

// TestRestore: the command says what is lost, asks, and requests the restore, if the controller would start
// it. Otherwise it changes nothing.
func TestRestore(t *testing.T) {
	for name, tc := range map[string]struct {
		lost    []string
		edit    func(p *v1alpha1.Provisioning, objects []client.Object) []client.Object
		typed   string
		args    []string
		request string // the annotation
	}{
		"asks":        {lost: []string{"host-1"}, typed: "yes\n", request: "b-1 2026-11-21T12:00:00Z"},
		"declined":    {lost: []string{"host-1"}, typed: "no\n"},
		"yes":         {lost: []string{"host-1"}, args: []string{"--yes"}, request: "b-1 2026-11-21T12:00:00Z"},
		"majority":    {args: []string{"--yes"}},
		"force":       {args: []string{"--yes", "--force"}, request: "b-1 force 2026-11-21T12:00:00Z"},
		"no-backup":   {lost: []string{"host-1"}, args: []string{"--yes", "--from=b-9"}},
		"no-host":     {lost: []string{"host-1", "host-4", "host-5"}, args: []string{"--yes"}, request: "b-1 2026-11-21T12:00:00Z"},
		"begun":       {lost: []string{"host-1"}, args: []string{"--yes"}, edit: begun},
		"begun-force": {lost: []string{"host-1"}, args: []string{"--yes", "--force"}, request: "b-1 force 2026-11-21T12:00:00Z", edit: begun},
		"paused": {lost: []string{"host-1"}, args: []string{"--yes"}, request: "b-1 2026-11-21T12:00:00Z",
			edit: func(p *v1alpha1.Provisioning, all []client.Object) []client.Object { p.Spec.Paused = true; return all }},
		"running": {lost: []string{"host-1"}, args: []string{"--yes"}, edit: func(p *v1alpha1.Provisioning, all []client.Object) []client.Object {
			p.Status.Restore = &v1alpha1.RestoreStatus{Backup: "b-0", State: v1alpha1.RestoreRunning}
			return all
		}},
		"deleted": {lost: []string{"host-1"}, args: []string{"--yes"}, edit: func(p *v1alpha1.Provisioning, all []client.Object) []client.Object {
			p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: noon}, []string{"f"}
			return all
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p, objects := backedUp(t, tc.lost...)
			if tc.edit != nil {
				objects = tc.edit(p, objects)
			}
			w := newStopped(t, objects...)
			w.typed = strings.NewReader(tc.typed)
			w.golden("restore/"+name, w.run(t.Context(), append([]string{"restore", "edge-1", "--from=b-1"}, tc.args...)...))
			if got := w.restoreOf(); got != tc.request {
				t.Errorf("annotation %q, want %q", got, tc.request)
			}
		})
	}
}

// TestRestoreWithoutKey: a user who may not read Secrets leaves the check of the key to the controller.
func TestRestoreWithoutKey(t *testing.T) {
	for name, tc := range map[string]struct {
		secret error // of a read of the Secret
		code   int
		says   string
	}{
		"missing":   {apierrors.NewNotFound(corev1.Resource("secrets"), "edge-1-backup-key"), codeFailed, "kubectl create secret generic -n site-a edge-1-backup-key --from-file=identity=FILE"},
		"forbidden": {apierrors.NewForbidden(corev1.Resource("secrets"), "edge-1-backup-key", errors.New("no")), codeDone, "was requested"},
	} {
		t.Run(name, func(t *testing.T) {
			_, objects := backedUp(t, "host-1")
			w := newStopped(t, objects...)
			w.cluster = interceptor.NewClient(w.cluster, interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
					if _, secret := o.(*corev1.Secret); secret {
						return tc.secret
					}
					return c.Get(ctx, key, o, opts...)
				},
			})
			w.expect(w.run(t.Context(), "restore", "edge-1", "--from=b-1", "--yes"), tc.code, tc.says)
			if got := w.restoreOf() != ""; got != (tc.code == codeDone) {
				t.Errorf("requested: %t", got)
			}
		})
	}
}

// TestRestoreUnseen: a user with only bpa-edit may not read hosts and records. The Backup is checked, and the controller checks the rest.
func TestRestoreUnseen(t *testing.T) {
	for name, tc := range map[string]struct {
		from  string
		state v1alpha1.RestoreState
		args  []string
		code  int
		says  []string
	}{
		"requested":   {from: "b-1", code: codeDone, says: []string{"from Backup b-1:", "Which control planes are lost was not checked: ", "user jane cannot", "was requested"}},
		"no Backup":   {from: "b-9", code: codeFailed, says: []string{"nothing was changed: there is no Backup b-9", "kubectl bpa backups"}},
		"begun":       {from: "b-1", state: v1alpha1.RestoreIncomplete, code: codeFailed, says: []string{"has begun and is not complete", "kubectl bpa retry edge-1"}},
		"begin again": {from: "b-1", state: v1alpha1.RestoreIncomplete, args: []string{"--force"}, code: codeDone, says: []string{"was requested"}},
		"refused":     {from: "b-1", state: v1alpha1.RestoreRefused, code: codeDone, says: []string{"was requested"}},
	} {
		t.Run(name, func(t *testing.T) {
			p, objects := backedUp(t, "host-1")
			if tc.state != "" {
				p.Status.Restore = &v1alpha1.RestoreStatus{Backup: "b-1", State: tc.state}
			}
			w := newStopped(t, objects...)
			w.cluster = interceptor.NewClient(w.cluster, interceptor.Funcs{
				List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
					if _, hosts := list.(*metal3.BareMetalHostList); hosts {
						return forbidden("list")
					}
					return c.List(ctx, list, opts...)
				},
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
					switch o.(type) {
					case *corev1.Secret, *corev1.ConfigMap:
						return forbidden("get")
					}
					return c.Get(ctx, key, o, opts...)
				},
			})
			w.expect(w.run(t.Context(), append([]string{"restore", "edge-1", "--from=" + tc.from, "--yes"}, tc.args...)...), tc.code, tc.says...)
			if got := w.restoreOf() != ""; got != (tc.code == codeDone) {
				t.Errorf("requested: %t", got)
			}
		})
	}
}

func TestRestoreUsage(t *testing.T) {
	p, objects := backedUp(t, "host-1")
	w := newStopped(t, objects...)
	w.expect(w.run(t.Context(), "restore", p.Name), codeUsage, "--from")
	w.expect(w.run(t.Context(), "restore", p.Name, "--from=b-1 force"), codeUsage, "name of a Backup")
	w.expect(w.run(t.Context(), "restore", p.Name, "--from=b-1", "--timeout=1m"), codeUsage, "--wait")
	if got := w.restoreOf(); got != "" {
		t.Errorf("annotation %q", got)
	}
}

// TestRestoreFollowed: with --wait, the command ends when the cluster is ready.
func TestRestoreFollowed(t *testing.T) {
	p, objects := backedUp(t, "host-1")
	p.ResourceVersion = ""
	w := newTerminal(t, objects...)
	w.clock = func() time.Time { return noon }
	code := w.start("restore", "edge-1", "--from=b-1", "--yes", "--wait")
	w.awaitWatch()
	w.change(p, func(p *v1alpha1.Provisioning) {
		installs("restore etcd")(p)
		p.Status.Run.Operation = contract.OperationRestore
	})
	w.await("kubespray: restore etcd")
	w.change(p, func(p *v1alpha1.Provisioning) {
		isReady(p)
		p.Status.Run.CompletionTime = &metav1.Time{Time: noon}
	})
	w.expect(<-code, codeDone, "edge-1 is ready")
}

// TestPlanOfARestore: a requested restore is the first operation, or the plan says why it does not start.
func TestPlanOfARestore(t *testing.T) {
	for name, asked := range map[string]string{"restore": "b-1", "restore-refused": "b-2"} {
		p, objects := backedUp(t, "host-1", "host-2")
		p.Annotations = map[string]string{contract.AnnotationRestore: asked}
		p.Spec.NodeSets[0].Count.Active, p.Spec.ReplacePolicy = 3, v1alpha1.ReplaceAny
		w := newStopped(t, objects...)
		w.golden("plan/"+name, w.run(t.Context(), "plan", "edge-1"))
	}
}

func TestStatusOfARestore(t *testing.T) {
	for name, r := range map[string]v1alpha1.RestoreStatus{
		"restore-complete":   {Backup: "b-1", State: v1alpha1.RestoreComplete, BackupTime: &metav1.Time{Time: noon.Add(-26 * time.Hour)}},
		"restore-incomplete": {Backup: "b-1", State: v1alpha1.RestoreIncomplete, Message: "there is no Backup b-1 in namespace site-a. What to do: name another one"},
	} {
		p := provisioning("edge-1")
		if p.Status.Restore = &r; r.State == v1alpha1.RestoreIncomplete {
			p.Status.MarkClusterInstalled(corev1.ConditionFalse, "RestoreRefused", "the restore of Backup b-1 has begun and is not complete, so the cluster cannot be used")
			p.Status.MarkStalled("RestoreRefused", "the restore of Backup b-1 has begun and is not complete, so the cluster cannot be used")
			p.Status.ObservedGeneration = p.Generation
		} else {
			isReady(p)
		}
		w := newStopped(t, p)
		w.golden("status/"+name, w.run(t.Context(), "status", "edge-1"))
	}
}
