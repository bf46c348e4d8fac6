package provisioning

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
)

// If the kubespray release of an installed cluster is edited, this is a change of the spec. No run
// starts, because a run would upgrade the nodes.
func TestAnotherReleaseOfAnInstalledCluster(t *testing.T) {
	done := run(edge(), 1, ended(corev1.ConditionTrue, "Succeeded"))
	p := edge(func(p *v1alpha1.Provisioning) { p.Spec.Kubespray.Release = "v2.32.0"; p.Generation = 2 })
	p.Status.InstalledDigest = done.Annotations[contract.AnnotationRequestDigest]
	w := newFixture(t, held(), []runtime.Object{p, done, sshKey()}, nil)
	if err := w.visit(t, at); err != nil {
		t.Fatal(err)
	}
	installed := w.stored(t).Status.GetCondition(v1alpha1.ConditionClusterInstalled)
	if runs := w.runs(t); installed.Reason != plan.ReasonSpecChanged || len(runs) != 1 {
		t.Errorf("ClusterInstalled %s %s (%s), runs %v; want SpecChanged and no other run", installed.Status, installed.Reason, installed.Message, runs)
	}
}
