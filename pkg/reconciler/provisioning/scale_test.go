package provisioning

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// TestCostOfTheFirstStart: the first run of a cluster asks for no account, Role or binding, of which none can exist, and
// creates none for a task that it does not have.
func TestCostOfTheFirstStart(t *testing.T) {
	p := edge()
	w := newFixture(t, fitting(), []runtime.Object{p}, []runtime.Object{sshKey()})
	if err := w.visit(t, site+"/"+name); err != nil {
		t.Fatal(err)
	}
	writes := 0
	for _, a := range w.kube.Actions() {
		kind := a.GetResource().Resource
		if rights := kind == "serviceaccounts" || strings.HasPrefix(kind, "role"); rights && a.GetVerb() == "get" {
			t.Errorf("the start reads %s", kind)
		}
		if a.GetVerb() != "get" && a.GetVerb() != "list" {
			writes++
		}
	}
	if w.runNamed(t, name+"-install-1") == nil {
		t.Fatal("no run was started")
	}
	if writes != 24 { // 6 accounts, 5 Roles, 6 bindings, 5 ConfigMaps and two keys
		t.Errorf("the start makes %d writes beside the run and the status, want 24:\n%s", writes, strings.Join(w.calls(), "\n"))
	}
}

// TestProgressWaits: with many runs, the progress waits, and nothing else.
func TestProgressWaits(t *testing.T) {
	object := func(name string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: site, Name: name, Labels: map[string]string{contract.LabelCluster: "edge-1"}}}
	}
	if of, is := ofProgress(object("edge-1-progress")); !is || of.Name != "edge-1" || of.Namespace != site {
		t.Errorf("the progress is of %v, %t", of, is)
	}
	if _, is := ofProgress(object("edge-1-installed")); is {
		t.Error("the record waits")
	}
	if _, is := ofProgress(sshKey()); is {
		t.Error("a Secret waits")
	}
	for flight, want := range map[int]time.Duration{0: 0, 4: 40 * time.Millisecond, 500: 5 * time.Second, 5000: 8 * time.Second} {
		if got := progressDelay(flight); got != want {
			t.Errorf("with %d runs the progress waits %s, want %s", flight, got, want)
		}
	}
}
