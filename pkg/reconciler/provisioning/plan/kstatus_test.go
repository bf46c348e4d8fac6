package plan

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	lua "github.com/yuin/gopher-lua"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// computed returns the status that kstatus computes for a Provisioning. Flux and kpt use kstatus.
// The argument observed is the observedGeneration, which the generated reconciler sets after each
// reconcile.
func computed(t *testing.T, w *scene, observed int64) *status.Result {
	t.Helper()
	p := w.p.DeepCopy()
	p.Generation, p.Status.ObservedGeneration = w.seen.Generation, observed
	if w.seen.Deleting {
		p.DeletionTimestamp = &metav1.Time{Time: w.now}
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p)
	if err != nil {
		t.Fatal(err)
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: object})
	if err != nil {
		t.Fatal(err)
	}
	if want, got := argoHealth[result.Status], argo(t, "Provisioning", object); !strings.HasPrefix(got, want) {
		t.Errorf("kstatus computes %s (%s), and Argo CD %s", result.Status, result.Message, got)
	}
	return result
}

// argoHealth has the health of Argo CD for each status of kstatus.
var argoHealth = map[status.Status]string{
	status.InProgressStatus: "Progressing", status.TerminatingStatus: "Progressing", status.FailedStatus: "Degraded", status.CurrentStatus: "Healthy",
}

// argo returns the health and the message that Argo CD has for an object of a kind with docs/gitops/argocd-health.yaml.
func argo(t *testing.T, kind string, object map[string]any) string {
	t.Helper()
	page, err := os.ReadFile("../../../../docs/gitops/argocd-health.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var patch struct{ Data map[string]string }
	if err := yaml.UnmarshalStrict(page, &patch); err != nil {
		t.Fatal(err)
	}
	vm := lua.NewState() // as Argo CD's: the object is the global variable obj, and the script returns its health
	defer vm.Close()
	vm.SetGlobal("obj", luaValue(vm, object))
	if err := vm.DoString(patch.Data["resource.customizations.health.bpa.akraino.org_"+kind]); err != nil {
		t.Fatal(err)
	}
	health, ok := vm.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the script for %s returns no table", kind)
	}
	return health.RawGetString("status").String() + ": " + health.RawGetString("message").String()
}

// luaValue converts a value of JSON.
func luaValue(vm *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case map[string]any:
		table := vm.NewTable()
		for key, item := range v {
			table.RawSetString(key, luaValue(vm, item))
		}
		return table
	case []any:
		table := vm.NewTable()
		for _, item := range v {
			table.Append(luaValue(vm, item))
		}
		return table
	case string:
		return lua.LString(v)
	case bool:
		return lua.LBool(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	}
	return lua.LNil
}

// TestArgoHealth: the scripts for the other kinds, and a Provisioning that is paused before it is Ready.
func TestArgoHealth(t *testing.T) {
	condition := func(kind, state string) map[string]any {
		return map[string]any{"type": kind, "status": state, "message": "why"}
	}
	for _, tc := range []struct {
		kind       string
		paused     bool
		observed   int64
		conditions []any
		want       string
	}{
		{"Provisioning", true, 2, []any{condition("Ready", "Unknown")}, "Suspended: why"},
		{"Provisioning", true, 2, []any{condition("Ready", "True")}, "Healthy: why"},
		{"Provisioning", true, 1, []any{condition("Ready", "True")}, "Progressing: the controller has not seen"},
		{"Provisioning", false, 0, nil, "Progressing: the controller has not seen"},
		{"Software", false, 2, []any{condition("Ready", "True")}, "Healthy: why"},
		{"Software", false, 1, []any{condition("Ready", "True")}, "Progressing: the controller has not seen"},
		{"Software", false, 2, []any{condition("Ready", "False")}, "Progressing: why"},
		{"Software", false, 2, []any{condition("Ready", "False"), condition("Stalled", "True")}, "Degraded: why"},
		{"Backup", false, 0, nil, "Progressing: the controller has not seen"},
		{"Backup", false, 0, []any{condition("Succeeded", "Unknown")}, "Progressing: why"},
		{"Backup", false, 0, []any{condition("Succeeded", "True")}, "Healthy: why"},
		{"Backup", false, 0, []any{condition("Succeeded", "False")}, "Degraded: why"},
	} {
		object := map[string]any{
			"metadata": map[string]any{"generation": int64(2)}, "spec": map[string]any{"paused": tc.paused},
			"status": map[string]any{"observedGeneration": tc.observed, "conditions": tc.conditions},
		}
		if tc.conditions == nil {
			delete(object, "status")
		}
		if got := argo(t, tc.kind, object); !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s, paused %t, observed %d, %v: %s, want %s", tc.kind, tc.paused, tc.observed, tc.conditions, got, tc.want)
		}
	}
}

// TestKstatus: tools that wait for a Provisioning with kstatus distinguish work in progress, a
// failure that requires a user, and success.
func TestKstatus(t *testing.T) {
	w := newScene()
	w.seen.Generation = 2 // not 1: the observedGeneration before it would be 0, which the status omits
	for _, step := range []struct {
		happens string
		want    status.Status
		says    string
	}{
		{"hosts no host fits", status.InProgressStatus, "no host fits"},
		{"hosts; ssh key ssh-privatekey of Secret ssh-key is missing", status.InProgressStatus, "is missing"},
		{"ssh", status.InProgressStatus, ""},
		{"created; claimed; task select-hosts succeeds; task kubespray runs", status.InProgressStatus, "is running"},
		{"task kubespray fails HostUnreachable|worker-1||no answer; run fails Failed", status.InProgressStatus, "see status.failure"},
		{"wait 30s", status.InProgressStatus, ""},
		{"created; task kubespray fails PlaybookFailed|worker-1|x|disk is full; run fails Failed", status.FailedStatus, "see status.failure"},
		{"retry again", status.InProgressStatus, ""},
		{"created; task kubespray succeeds; task collect-kubeconfig succeeds; run succeeds", status.InProgressStatus, "is being written"},
		{"kubeconfig stored", status.CurrentStatus, ""},
		{"spec two", status.FailedStatus, "kubectl patch bpa"},
		{"spec one", status.CurrentStatus, ""},
		{"kubeconfig gone; key-gone", status.FailedStatus, "annotate the Provisioning"},
		{"delete", status.TerminatingStatus, ""},
	} {
		for _, line := range strings.Split(step.happens, "; ") {
			w.happen(t, strings.Fields(line))
		}
		w.describe()
		got := computed(t, w, w.seen.Generation)
		if got.Status != step.want || !strings.Contains(got.Message, step.says) {
			t.Errorf("%s: %s (%s), want %s ...%s...", step.happens, got.Status, got.Message, step.want, step.says)
		}
		if behind := computed(t, w, w.seen.Generation-1); !w.seen.Deleting && behind.Status != status.InProgressStatus {
			t.Errorf("%s: %s before the controller has seen the edit, want InProgress", step.happens, behind.Status)
		}
		w.now = w.now.Add(time.Second)
	}
}
