package provisioning

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
	"github.com/akraino-icn/bpa/test/year"
)

// forgetRuns deletes all runs of the cluster, which have ended, with their TaskRuns and ConfigMaps.
func (w *simSite) forgetRuns() {
	w.say("all runs are deleted")
	for _, run := range simList[*tekton.PipelineRun](w.server, kindRun) {
		if run.Labels[contract.LabelCluster] == name {
			w.server.remove(kindRun, run.Name)
		}
	}
	w.server.collectGarbage()
	for _, cm := range w.server.names(kindConfigMap) {
		if strings.HasPrefix(cm, name+"-run-") {
			w.server.remove(kindConfigMap, cm)
		}
	}
}

// TestNothingLivesOnARun: what a cluster needs later is not on its old runs. Before each change, all runs are deleted with
// their ConfigMaps: the cluster stays Ready as it is, starts no run, and then does what the spec says.
func TestNothingLivesOnARun(t *testing.T) {
	w := newSimSite(2, year.Older)
	settled := func(what string) {
		t.Helper()
		if err := w.settle(w.unlike); err != nil {
			t.Fatalf("%s: %s\n\n%s\n\n%s", what, err, strings.Join(w.history[max(0, len(w.history)-60):], "\n"), w.state())
		}
	}
	w.want(w.world)
	settled("installation")
	last := int32(0)
	for i, step := range []struct {
		operation string
		change    func(*year.World)
		starts    []string // the operations of the runs, without repetitions
	}{
		{year.GrowPool, func(a *year.World) { a.Pool = 2 }, []string{contract.OperationAddNodes}},
		{year.ShrinkPool, func(a *year.World) { a.Pool = 1 }, []string{contract.OperationRemoveNodes}},
		{year.UpgradePatch, func(a *year.World) { a.Kubernetes = year.Patched }, []string{contract.OperationUpgradeControlPlane, contract.OperationUpgradeNodes}},
		{year.ThreePlanes, func(a *year.World) { a.Planes = 3 }, []string{contract.OperationAddControlPlane}},
		{year.OnePlane, func(a *year.World) { a.Planes = 1 }, []string{contract.OperationRemoveControlPlane}},
		{year.AddPlugin, func(a *year.World) { a.Plugins = []string{"nfd"} }, []string{contract.OperationPlugins}},
		{year.AddDrained, func(a *year.World) { a.Packages = []string{"bpa-e2e-tool!Drain"} }, []string{contract.OperationSoftware}},
		{year.LoseKubeconfig, func(*year.World) {}, nil},
		{year.BackUp, func(*year.World) {}, nil},
		{year.Restore, func(*year.World) {}, []string{contract.OperationRestore}},
	} {
		before := w.provisioning(name)
		w.forgetRuns()
		if settled("the runs are deleted"); len(w.server.objects[kindRun]) > 0 {
			t.Fatalf("before %q, a run starts because the others were deleted: %v", step.operation, w.server.names(kindRun))
		}
		if diff := cmp.Diff(before.Status.Nodes, w.provisioning(name).Status.Nodes); diff != "" {
			t.Errorf("before %q, status.nodes (-with runs +without):\n%s", step.operation, diff)
		}
		after := w.world
		step.change(&after)
		w.play(year.Step{Number: i + 1, Operation: step.operation, After: after})
		settled(step.operation)
		var starts []string
		runs := simList[*tekton.PipelineRun](w.server, kindRun)
		slices.SortFunc(runs, func(a, b *tekton.PipelineRun) int {
			return int(resources.RunNumber(a.Name) - resources.RunNumber(b.Name))
		})
		for _, run := range runs {
			if n := resources.RunNumber(run.Name); n <= last {
				t.Errorf("after %q, run %s has the number of a run that was deleted", step.operation, run.Name)
			} else {
				last = n
			}
			starts = append(starts, run.Labels[contract.LabelOperation])
		}
		if diff := cmp.Diff(step.starts, slices.Compact(starts)); diff != "" {
			t.Errorf("after %q, runs (-want +got):\n%s", step.operation, diff)
		}
		w.tidy()
		settled(step.operation + ", and users have tidied up")
	}
	w.forgetRuns()
	simChange(w.server, kindProvisioning, name, func(p *v1alpha1.Provisioning) { p.DeletionTimestamp = &metav1.Time{Time: w.now} })
	err := w.settle(func() string {
		if w.provisioning(name) != nil {
			return "the Provisioning is not deleted"
		}
		for _, h := range simList[*metal3.BareMetalHost](w.server, kindHost) {
			if m := w.machines[string(h.UID)]; m.user != "" || h.Spec.ConsumerRef != nil || h.Annotations[contract.AnnotationUsedBy] != "" {
				return h.Name + " was not reset and released"
			}
		}
		return ""
	})
	if err != nil {
		t.Fatalf("deletion: %s\n\n%s", err, w.state())
	}
}
