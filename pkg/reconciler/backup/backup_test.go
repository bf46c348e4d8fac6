package backup

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"knative.dev/pkg/controller"

	"github.com/akraino-icn/bpa/pkg/admission"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/backup"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// A Backup starts its run: with an account that belongs to the Provisioning, a request that belongs to
// the Backup, and without the private key.
func TestStart(t *testing.T) {
	w := newFixture(t, nightly(), edge(func(p *v1alpha1.Provisioning) { p.Status.ClusterUID = "uid-of-an-adopted-cluster" }))
	if err := w.visit(t); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"create secrets edge-1-backup-key", "create serviceaccounts edge-1-enroll", "create roles edge-1-enroll", "create rolebindings edge-1-enroll",
		"create serviceaccounts edge-1-backup", "create roles edge-1-backup", "create rolebindings edge-1-backup",
		"create configmaps backup.nightly", "create secrets edge-1-nodes-ssh-key", "create pipelineruns nightly-backup", "update backups/status nightly",
	}
	if diff := cmp.Diff(want, w.writes()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	ctx := context.Background()
	secret, err := w.kube.CoreV1().Secrets(site).Get(ctx, "edge-1-backup-key", metav1.GetOptions{})
	if err != nil || len(secret.OwnerReferences) > 0 || secret.Labels[contract.LabelCluster] != "" {
		t.Errorf("Secret %+v, %v; want no owner and no label of the cluster", secret, err)
	}
	run, err := w.tekton.TektonV1().PipelineRuns(site).Get(ctx, "nightly-backup", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !metav1.IsControlledBy(run, nightly()) || run.Labels[contract.LabelCluster] != "" || run.Labels[contract.LabelBackup] != "nightly" {
		t.Errorf("run %+v: it must belong to the Backup, and not count as a run of the Provisioning", run.ObjectMeta)
	}
	for _, ws := range run.Spec.Workspaces {
		of := map[string]string{contract.WorkspaceSSH: "edge-1-nodes-ssh-key", contract.WorkspaceSiteSSH: v1alpha1.DefaultSSHSecret}
		if ws.Secret != nil && ws.Secret.SecretName != of[ws.Name] {
			t.Errorf("the run mounts Secret %s as %s", ws.Secret.SecretName, ws.Name)
		}
		if ws.Name == contract.WorkspaceRequest && ws.ConfigMap.Name != "backup.nightly" {
			t.Errorf("the request is %s", ws.ConfigMap.Name)
		}
	}
	for _, p := range run.Spec.Params {
		if strings.Contains(p.Value.StringVal, strings.TrimSpace(string(secret.Data[backup.KeyIdentity]))) {
			t.Errorf("param %s has the private key", p.Name)
		}
	}
	run.OwnerReferences = nil
	if run.SetDefaults(ctx); run.Validate(ctx) != nil {
		t.Errorf("Tekton refuses the run: %v", run.Validate(ctx))
	}
	status := w.stored(t).Status
	status.Status = v1alpha1.BackupStatus{}.Status
	recipient := strings.TrimSpace(string(secret.Data[backup.KeyRecipient]))
	if diff := cmp.Diff(v1alpha1.BackupStatus{Run: "nightly-backup", Depot: url, ClusterUID: "uid-of-an-adopted-cluster", Artifact: "binary_images/site/edge-1/backup-nightly-01234567.tar.age", Recipient: recipient}, status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

// Each row is one reconcile, with its writes and the condition Succeeded that it stores.
func TestReconcile(t *testing.T) {
	results := map[string]string{"sha256": "abc", "size": "1234", "revision": "42", "member": "m-1", "version": "1.35.4"}
	done := func(b *v1alpha1.Backup) {
		started(b)
		b.Status.ObservedGeneration = 1
		b.Status.MarkSucceeded("True", "Stored", "")
	}
	clusterRun := runOf(nightly(), func(run *tekton.PipelineRun) {
		run.Name, run.OwnerReferences = "edge-1-reset-3", []metav1.OwnerReference{{UID: "uid-p", Controller: new(true)}}
		run.Labels = map[string]string{contract.LabelCluster: "edge-1", contract.LabelOperation: contract.OperationReset}
	})
	foreign := runOf(nightly(), func(run *tekton.PipelineRun) { run.OwnerReferences = nil })
	other := nightly(func(b *v1alpha1.Backup) { b.Name, b.UID = "a-other", "uid-o" })
	for _, tc := range []struct {
		name    string
		objects []runtime.Object
		change  func(*fixture)
		writes  string // of runs and Backups
		status  corev1.ConditionStatus
		mention string
	}{
		{"steady", []runtime.Object{nightly(done), edge()}, nil, "", "True", ""},
		{"no Provisioning", []runtime.Object{nightly()}, nil, "update backups/status nightly", "Unknown", "does not exist"},
		{"running", []runtime.Object{nightly(started), edge(), runOf(nightly())}, nil, "update backups/status nightly", "Unknown", ""},
		{"succeeded", []runtime.Object{nightly(started), edge(), runOf(nightly(), ended("True")), taskOf(runOf(nightly(), ended("True")), results)}, nil, "update backups/status nightly", "True", ""},
		{"succeeded, the task is not in the cache", []runtime.Object{nightly(started), edge(), runOf(nightly(), ended("True"))}, nil, "update backups/status nightly", "Unknown", ""},
		{"failed", []runtime.Object{nightly(started), edge(), runOf(nightly(), ended("False")), taskOf(runOf(nightly(), ended("False")), map[string]string{"failure": `{"reason":"HostUnreachable","host":"m-1","message":"no route"}`})},
			nil, "update backups/status nightly", "False", "m-1: no route. After"},
		{"run deleted", []runtime.Object{nightly(started), edge()}, nil, "update backups/status nightly", "False", "deleted"},
		{"during a reset", []runtime.Object{nightly(), edge(), clusterRun}, nil, "update backups/status nightly", "Unknown", "edge-1-reset-3"},
		{"another one runs", []runtime.Object{nightly(), edge(), other}, nil, "update backups/status nightly", "Unknown", "Backup a-other"},
		{"a run of somebody else", []runtime.Object{nightly(), edge(), foreign}, nil, "create pipelineruns nightly-backup, update backups/status nightly", "Unknown", "PipelineRun nightly-backup exists"},
		{"no depot", []runtime.Object{nightly(), edge()}, func(w *fixture) { w.settings.Depot.URL = "" }, "update backups/status nightly", "Unknown", "depot-url"},
		{"a depot without TLS", []runtime.Object{nightly(), edge()}, func(w *fixture) { w.settings.Depot.URL = "http://10.60.0.1" }, "update backups/status nightly", "Unknown", "plain HTTP"},
		{"a bad key", []runtime.Object{nightly(), edge(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: site, Name: "edge-1-backup-key"}}}, nil, "update backups/status nightly", "Unknown", "Secret edge-1-backup-key"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newFixture(t, tc.objects...)
			if tc.change != nil {
				tc.change(w)
			}
			if err := w.visit(t); err != nil {
				if again, _ := controller.IsRequeueKey(err); !again {
					t.Fatal(err)
				}
			}
			var writes []string
			for _, write := range w.writes() {
				if strings.Contains(write, "pipelineruns") || strings.Contains(write, "backups") {
					writes = append(writes, write)
				}
			}
			if got := strings.Join(writes, ", "); got != tc.writes {
				t.Errorf("writes %q, want %q", got, tc.writes)
			}
			if c := w.stored(t).Status.GetCondition(v1alpha1.ConditionSucceeded); c == nil || c.Status != tc.status || !strings.Contains(c.Message, tc.mention) {
				t.Errorf("condition %+v, want %s with %q", c, tc.status, tc.mention)
			}
		})
	}
}

func TestSchedule(t *testing.T) {
	daily := func(mark string) func(*v1alpha1.Provisioning) {
		return func(p *v1alpha1.Provisioning) {
			p.Spec.Backup = &v1alpha1.BackupPolicy{Schedule: "30 2 * * *", Keep: 1}
			p.Annotations = map[string]string{contract.AnnotationBackupScheduled: mark}
		}
	}
	of := func(uid, at string) func(*v1alpha1.Backup) {
		return func(b *v1alpha1.Backup) {
			b.Name, b.Labels, b.Annotations = "b-"+at[8:10], map[string]string{contract.LabelBackupOf: uid}, map[string]string{contract.AnnotationBackupScheduled: at}
			b.Status.MarkSucceeded("True", "Stored", "")
		}
	}
	mark := func(at string) string {
		return `patch provisionings edge-1 {"metadata":{"uid":"uid-p","annotations":{"bpa.akraino.org/backup-scheduled":"` + at + `"}}}`
	}
	for _, tc := range []struct {
		name    string
		objects []runtime.Object
		writes  []string
		after   time.Duration
	}{
		{"no schedule", []runtime.Object{edge()}, nil, 0},
		{"deleted", nil, nil, 0},
		{"first", []runtime.Object{edge(daily(""))}, []string{mark("2026-11-22T12:00:00Z")}, 14*time.Hour + 30*time.Minute},
		{"steady", []runtime.Object{edge(daily("2026-11-22T02:30:00Z"))}, nil, 14*time.Hour + 30*time.Minute},
		{"due", []runtime.Object{edge(daily("2026-11-20T02:30:00Z"))}, []string{"create backups edge-1-20261122023000", mark("2026-11-22T02:30:00Z")}, 14*time.Hour + 30*time.Minute},
		{"surplus", []runtime.Object{
			edge(daily("2026-11-22T02:30:00Z")), nightly(of("uid-p", "2026-11-20T02:30:00Z")), nightly(of("uid-p", "2026-11-21T02:30:00Z")), nightly(of("uid-p", "2026-11-22T02:30:00Z")),
			nightly(of("uid-of-an-earlier-one", "2026-11-19T02:30:00Z")), nightly(),
		}, []string{"delete backups b-20", "delete backups b-21"}, 14*time.Hour + 30*time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newFixture(t, tc.objects...)
			err := w.schedule(t)
			if _, after := controller.IsRequeueKey(err); after != tc.after || err != nil && tc.after == 0 {
				t.Errorf("%v, want again after %s", err, tc.after)
			}
			if diff := cmp.Diff(tc.writes, w.writes()); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
		})
	}
}

// A scheduled Backup is one that the webhook accepts, and that the schedule finds again.
func TestScheduledBackup(t *testing.T) {
	w := newFixture(t, edge(func(p *v1alpha1.Provisioning) {
		p.Spec.Backup = &v1alpha1.BackupPolicy{Schedule: "@every 1h"}
		p.Annotations = map[string]string{contract.AnnotationBackupScheduled: "2026-11-22T09:00:00Z"}
	}))
	_ = w.schedule(t) // asks for another look
	all, err := w.bpa.BpaV1alpha1().Backups(site).List(context.Background(), metav1.ListOptions{LabelSelector: contract.LabelBackupOf + "=uid-p"})
	if err != nil || len(all.Items) != 1 {
		t.Fatalf("Backups %+v, %v", all, err)
	}
	b := all.Items[0]
	if err := admission.CheckBackup(context.Background(), &b); err != nil || len(b.OwnerReferences) > 0 {
		t.Errorf("Backup %+v: %v, owners %v; want none", b.ObjectMeta, err, b.OwnerReferences)
	}
	if b.Annotations[contract.AnnotationBackupScheduled] != "2026-11-22T12:00:00Z" || b.Name != "edge-1-20261122120000" {
		t.Errorf("Backup %s for %v", b.Name, b.Annotations)
	}
}

// A new key pair is reported if earlier backups need the private key of the deleted Secret.
func TestNewKeyIsReported(t *testing.T) {
	earlier := func(recipient, cluster string) *v1alpha1.Backup {
		return nightly(func(b *v1alpha1.Backup) {
			b.Name, b.UID, b.Spec.Provisioning, b.Status.Recipient = "earlier-of-"+cluster, "uid-e", cluster, recipient
			b.Status.MarkSucceeded("True", "Stored", "")
		})
	}
	for name, tc := range map[string]struct {
		objects []runtime.Object
		want    bool
	}{
		"the first backup":         {nil, false},
		"backups of other names":   {[]runtime.Object{earlier("age1old", "edge-2")}, false},
		"an earlier backup":        {[]runtime.Object{earlier("age1old", "edge-1")}, true},
		"one without a public key": {[]runtime.Object{earlier("", "edge-1")}, false},
	} {
		w := newFixture(t, append(tc.objects, nightly(), edge())...)
		if err := w.visit(t); err != nil {
			t.Fatal(err)
		}
		close(w.recorder.Events)
		reported := false
		for event := range w.recorder.Events {
			reported = reported || strings.Contains(event, "Warning BackupKeyReplaced Secret edge-1-backup-key was missing") && strings.Contains(event, "earlier-of-edge-1")
		}
		if reported != tc.want {
			t.Errorf("%s: reported %t, want %t", name, reported, tc.want)
		}
	}
}
