package backup

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"knative.dev/pkg/controller"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// podOf returns an active pod of a TaskRun; an empty name: of nobody.
func podOf(taskRun string, uid types.UID) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: site, Name: "p", Labels: map[string]string{contract.LabelBackup: "nightly", "tekton.dev/pipelineRun": "nightly-backup"}}}
	if taskRun != "" {
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: "TaskRun", Name: taskRun, UID: uid, Controller: new(true)}}
	}
	return pod
}

// ownedTask returns the TaskRun of a run with an owner reference to it.
func ownedTask(run *tekton.PipelineRun, uid types.UID) *tekton.TaskRun {
	tr := taskOf(run, nil)
	tr.UID, tr.OwnerReferences = uid, []metav1.OwnerReference{{Kind: "PipelineRun", Name: run.Name, UID: run.UID, Controller: new(true)}}
	return tr
}

func keepCopy(b *v1alpha1.Backup) {
	b.Annotations = map[string]string{contract.AnnotationKeepCopy: contract.KeepCopy}
}

// restoring returns a Provisioning with a half restored cluster.
func restoring(backup string, changes ...func(*v1alpha1.Provisioning)) *v1alpha1.Provisioning {
	p := edge(changes...)
	p.Status.Restore = &v1alpha1.RestoreStatus{Backup: backup, State: v1alpha1.RestoreIncomplete}
	return p
}

// The copy in the depot is deleted when nothing can write it any more. Only then the finalizer goes.
func TestFinalize(t *testing.T) {
	artifact := artifactOf(nightly()).String()
	const (
		gone   = `patch backups nightly {"metadata":{"finalizers":[],"resourceVersion":""}}`
		cancel = `patch pipelineruns nightly-backup {"spec":{"status":"Cancelled"}}`
		giveUp = "`kubectl annotate bpabackup -n site nightly bpa.akraino.org/keep-copy=true`"
	)
	stored := func(b *v1alpha1.Backup) { started(b); b.Status.SHA256 = "abc" }
	moved := func(sum string) func(*fixture) {
		return func(w *fixture) {
			w.settings.Depot.URL = "https://depot.example.org:5443"
			w.files = map[string]string{artifactOf(nightly()).FilePath(): sum}
		}
	}
	succeeded := func(b *v1alpha1.Backup) { stored(b); b.Status.MarkSucceeded("True", "Stored", "") }
	aged := func(age, now time.Duration) func(*fixture) {
		return func(w *fixture) { w.settings.BackupMinAge, w.now = age, noon.Add(now) }
	}
	const day = 24 * time.Hour
	failed := runOf(nightly(), ended("False"))
	later := func(w *fixture) { w.now = noon.Add(time.Hour) }
	for _, tc := range []struct {
		name    string
		objects []runtime.Object
		change  func(*fixture)
		writes  []string
		deleted []string
		fails   bool
		event   string
	}{
		{"stored", []runtime.Object{nightly(started, deleting)}, nil, []string{gone}, []string{artifact}, false, ""},
		{"never started", []runtime.Object{nightly(deleting)}, nil, []string{gone}, nil, false, ""},
		{"started, but not in the status", []runtime.Object{nightly(deleting), failed}, nil, []string{gone}, []string{artifact}, false, ""},
		{"still running", []runtime.Object{nightly(started, deleting), runOf(nightly())}, nil, []string{cancel}, nil, true, ""},
		{"the depot is down", []runtime.Object{nightly(started, deleting)}, func(w *fixture) { w.broken = errors.New("connection refused") }, nil, nil, true, "connection refused. To delete the Backup and leave the copy in the depot: " + giveUp},
		{"a run of somebody else", []runtime.Object{nightly(started, deleting), runOf(nightly(), func(run *tekton.PipelineRun) { run.OwnerReferences = nil })}, nil, []string{gone}, []string{artifact}, false, ""},
		{"other deletions wait for the depot", []runtime.Object{nightly(started, deleting)}, func(w *fixture) { w.busy = true }, nil, nil, true, ""},

		{"its pod still runs", []runtime.Object{nightly(started, deleting), failed, ownedTask(failed, "uid-t"), podOf("nightly-backup-task", "uid-t")}, nil, nil, nil, true, ""},
		{"its pod still runs, its TaskRun is not in the cache", []runtime.Object{nightly(started, deleting), failed, podOf("nightly-backup-task", "uid-t")}, nil, nil, nil, true, ""},
		{"its pod still runs, its run was deleted", []runtime.Object{nightly(started, deleting), ownedTask(failed, "uid-t"), podOf("nightly-backup-task", "uid-t")}, nil, nil, nil, true, ""},
		{"its pod never ends", []runtime.Object{nightly(started, deleting), failed, podOf("nightly-backup-task", "uid-t")}, later, nil, nil, true, "`kubectl delete pod -n site p --force`. To delete the Backup and leave the copy in the depot: " + giveUp},
		{"a user's pod with the labels", []runtime.Object{nightly(started, deleting), failed, podOf("", "")}, nil, []string{gone}, []string{artifact}, false, ""},
		{"a pod of an earlier TaskRun", []runtime.Object{nightly(started, deleting), failed, ownedTask(failed, "uid-t"), podOf("nightly-backup-task", "uid-old")}, nil, []string{gone}, []string{artifact}, false, ""},

		{"its restore is not complete", []runtime.Object{nightly(started, deleting), restoring("nightly")}, nil, nil, nil, true, "WaitingForRestore"},
		{"the restore of another Backup is not complete", []runtime.Object{nightly(started, deleting), restoring("weekly")}, nil, []string{gone}, []string{artifact}, false, ""},
		{"its restore is not complete, but the cluster is deleted", []runtime.Object{nightly(started, deleting), restoring("nightly", func(p *v1alpha1.Provisioning) { p.DeletionTimestamp = &metav1.Time{Time: noon} })}, nil, []string{gone}, []string{artifact}, false, ""},

		{"younger than the site wants", []runtime.Object{nightly(deleting, succeeded)}, aged(7*day, 6*day), []string{"update backups/status nightly"}, nil, true, "WaitingForAge the copy stays until 2026-"},
		{"old enough", []runtime.Object{nightly(deleting, succeeded)}, aged(7*day, 8*day), []string{gone}, []string{artifact}, false, ""},
		{"young, but failed", []runtime.Object{nightly(started, deleting)}, aged(7*day, 0), []string{gone}, []string{artifact}, false, ""},
		{"young, and the user gives the copy up", []runtime.Object{nightly(succeeded, deleting, keepCopy)}, aged(7*day, 0), []string{gone}, nil, false, "delete it by hand"},
		{"another depot", []runtime.Object{nightly(stored, deleting)}, func(w *fixture) { w.settings.Depot.URL = "https://new:5443" }, []string{gone}, nil, false, "delete it by hand"},
		{"another depot with other content", []runtime.Object{nightly(stored, deleting)}, moved("def"), []string{gone}, nil, false, "delete it by hand"},
		{"the same depot under another address", []runtime.Object{nightly(stored, deleting)}, moved("abc"), []string{gone}, []string{artifact}, false, ""},
		{"another address, nothing was stored", []runtime.Object{nightly(started, deleting)}, moved(""), []string{gone}, nil, false, "delete it by hand"},
		{"another address that does not answer", []runtime.Object{nightly(stored, deleting)}, func(w *fixture) { moved("abc")(w); w.broken = errors.New("no answer") }, nil, nil, true, "no answer"},
		{"the site has no depot any more", []runtime.Object{nightly(stored, deleting)}, func(w *fixture) { w.settings.Depot.URL = "" }, []string{gone}, nil, false, "delete it by hand"},
		{"the settings are invalid", []runtime.Object{nightly(stored, deleting)}, func(w *fixture) { w.settings.Depot.URL, w.settings.Invalid = "", "key x" }, nil, nil, true, "key x. To delete the Backup and leave"},

		{"the user gives the copy up", []runtime.Object{nightly(stored, deleting, keepCopy)}, func(w *fixture) { w.broken = errors.New("gone for ever") }, []string{gone}, nil, false, "keep-copy requests that the copy stays"},
		{"given up, its pod is on a dead node", []runtime.Object{nightly(stored, deleting, keepCopy), failed, podOf("nightly-backup-task", "uid-t")}, nil, []string{gone}, nil, false, "delete it by hand"},
		{"given up, while it runs", []runtime.Object{nightly(started, deleting, keepCopy), runOf(nightly())}, nil, []string{cancel, gone}, nil, false, "delete it by hand"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newFixture(t, tc.objects...)
			if tc.change != nil {
				tc.change(w)
			}
			if err := w.visit(t); (err != nil) != tc.fails {
				t.Errorf("error %v, want one: %t", err, tc.fails)
			}
			if diff := cmp.Diff(tc.writes, w.writes()); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.deleted, w.deleted); diff != "" {
				t.Errorf("deleted from the depot (-want +got):\n%s", diff)
			}
			if len(w.deleted) > 0 && !w.limited {
				t.Error("the depot may block the worker for ever")
			}
			close(w.recorder.Events)
			var events []string
			for event := range w.recorder.Events {
				events = append(events, event)
			}
			if !strings.Contains(strings.Join(events, "\n"), tc.event) {
				t.Errorf("no event has %q: %q", tc.event, events)
			}
		})
	}
}

// The longer a pod delays the deletion, the rarer are the looks at it.
func TestPause(t *testing.T) {
	run := runOf(nightly(), ended("False"))
	for after, want := range map[time.Duration]time.Duration{0: 2 * time.Second, time.Minute: 15 * time.Second, time.Hour: 5 * time.Minute} {
		w := newFixture(t, nightly(started, deleting), run, podOf("nightly-backup-task", "uid-t"))
		w.now = noon.Add(after)
		if _, got := controller.IsRequeueKey(w.visit(t)); got != want {
			t.Errorf("after %s: the next look is after %s, want %s", after, got, want)
		}
	}
}
