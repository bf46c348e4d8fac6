package cli

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// event returns an event about an object such as "bpa.akraino.org/v1alpha1 Provisioning edge-1", which was seen some minutes before noon.
func event(about, reason string, minutes time.Duration) *corev1.Event {
	of := strings.Fields(about)
	return &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: "site-a", Name: strings.ToLower(reason), UID: types.UID(reason)},
		InvolvedObject: corev1.ObjectReference{APIVersion: of[0], Kind: of[1], Name: of[2], Namespace: "site-a"},
		Type:           corev1.EventTypeNormal, Reason: reason, Message: "message of " + reason,
		LastTimestamp: metav1.NewTime(noon.Add(-minutes * time.Minute)),
	}
}

// withEvents returns a cluster with a Backup, a Software and hosts, events of all of them, and events of others.
func withEvents() []client.Object {
	p := provisioning("edge-1")
	p.Status.Nodes = []v1alpha1.NodeStatus{{Name: "master-1", Host: "host-1"}, {Name: "pool-1", Host: "host-2"}}
	backup := &v1alpha1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "site-a", Name: "b-1"}, Spec: v1alpha1.BackupSpec{Provisioning: "edge-1"}}
	other := &v1alpha1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "site-a", Name: "b-2"}, Spec: v1alpha1.BackupSpec{Provisioning: "edge-2"}}
	warning := event("tekton.dev/v1 PipelineRun edge-1-install-2", "Failed", 20)
	warning.Type, warning.Count, warning.FirstTimestamp = corev1.EventTypeWarning, 3, metav1.NewTime(noon.Add(-50*time.Minute))
	warning.Message = "Tasks Completed: 3\n\x1b[31m(Failed: 1)"
	micro := event("v1 Pod edge-1-install-2-kubespray-pod", "Pulled", 0)
	micro.LastTimestamp, micro.EventTime = metav1.Time{}, metav1.NewMicroTime(noon.Add(-40*time.Minute)) // as events.k8s.io writes it
	return []client.Object{p, provisioning("edge-2"), backup, other, softwareFor("tools", "edge-1"), softwareFor("drivers", "edge-2"),
		event("bpa.akraino.org/v1alpha1 Provisioning edge-1", "RunStarted", 55), warning, micro,
		event("tekton.dev/v1 TaskRun edge-1-install-2-kubespray", "Started", 45),
		event("bpa.akraino.org/v1alpha1 Backup b-1", "WaitingForPod", 15), event("tekton.dev/v1 TaskRun b-1-backup-backup", "Completed", 10),
		event("bpa.akraino.org/v1alpha1 Software tools", "Accepted", 12), event("metal3.io/v1alpha1 BareMetalHost host-2", "PowerOn", 5),

		event("bpa.akraino.org/v1alpha1 Provisioning edge-2", "OtherCluster", 1), event("metal3.io/v1alpha1 Provisioning edge-1", "OtherKind", 1),
		event("velero.io/v1 Backup b-1", "OtherBackup", 1), event("bpa.akraino.org/v1alpha1 Backup b-2", "BackupOfAnother", 1),
		event("bpa.akraino.org/v1alpha1 Software drivers", "SoftwareOfAnother", 1), event("metal3.io/v1alpha1 BareMetalHost host-9", "OtherHost", 1),
		event("tekton.dev/v1 PipelineRun edge-1-2-install-1", "OtherRun", 1), event("v1 Pod edge-1-app-1", "OtherPod", 1),
	}
}

// TestEvents: one list has the events of a cluster, in the order of their times, and no others.
func TestEvents(t *testing.T) {
	w := newStopped(t, withEvents()...)
	w.golden("events", w.run(t.Context(), "events", "edge-1"))
	w = newStopped(t, withEvents()...)
	w.expect(w.run(t.Context(), "events", "edge-1", "-o", "name"), codeDone, "event/runstarted\nevent/started\nevent/pulled\n")
	w = newStopped(t, withEvents()...)
	w.expect(w.run(t.Context(), "events", "edge-1", "-o", "jsonpath={.items[*].reason}"), codeDone, "RunStarted Started Pulled Failed WaitingForPod Accepted Completed PowerOn")
	w = newStopped(t, provisioning("edge-1"))
	w.expect(w.run(t.Context(), "events"), codeDone, "There are no events of edge-1", "kubectl bpa history edge-1 -n site-a")
	w = newStopped(t)
	w.expect(w.run(t.Context(), "events", "edge-9"), codeFailed, `there is no Provisioning "edge-9"`)
	w.expect(w.run(t.Context(), "events", "edge-9", "-o", "xml"), codeUsage, "the formats are json, yaml")
}

// TestEventsWatch: -w goes on with new events, also those of a Backup that is made meanwhile and those that happen again, until the
// Provisioning is gone.
func TestEventsWatch(t *testing.T) {
	w := newStopped(t, withEvents()...)
	code := w.start("events", "edge-1", "-w")
	w.await("message of PowerOn")
	for range 2 {
		w.awaitWatch()
	}
	create := func(o client.Object) {
		t.Helper()
		if err := w.cluster.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	create(&v1alpha1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "site-a", Name: "b-3"}, Spec: v1alpha1.BackupSpec{Provisioning: "edge-1"}})
	create(event("bpa.akraino.org/v1alpha1 Backup b-2", "StillAnother", 0))
	create(event("bpa.akraino.org/v1alpha1 Backup b-3", "NewBackup", 0))
	w.await("message of NewBackup")
	again := event("metal3.io/v1alpha1 BareMetalHost host-2", "PowerOn", 0)
	if err := w.cluster.Get(t.Context(), client.ObjectKeyFromObject(again), again); err != nil {
		t.Fatal(err)
	}
	again.Count, again.Message = 2, "power is on again"
	if err := w.cluster.Update(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	w.await("power is on again (2 times)")
	if err := w.cluster.Delete(t.Context(), provisioning("edge-1")); err != nil {
		t.Fatal(err)
	}
	w.expect(<-code, codeFailed, "edge-1 was deleted")
	if text := w.text(); strings.Contains(text, "Another") || strings.Count(text, "message of RunStarted") != 1 {
		t.Errorf("printed:\n%s", text)
	}
}
