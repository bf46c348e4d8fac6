package runs

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"knative.dev/pkg/apis"
	duckv1 "knative.dev/pkg/apis/duck/v1"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/runs/tekton"
)

func TestEnrolled(t *testing.T) {
	at := time.Date(2026, 11, 28, 3, 0, 0, 0, time.UTC)
	run := func(hour int, status corev1.ConditionStatus, key string) *tekton.PipelineRun {
		r := &tekton.PipelineRun{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{AnnotationNodesKey: key}}}
		r.Status.Conditions = duckv1.Conditions{{Type: apis.ConditionSucceeded, Status: status}}
		if status != corev1.ConditionUnknown {
			r.Status.CompletionTime = &metav1.Time{Time: at.Add(time.Duration(hour) * time.Hour)}
		}
		return r
	}
	const ok, bad, active = corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown
	old := run(9, ok, "")
	old.Annotations = nil
	for name, test := range map[string]struct {
		runs []*tekton.PipelineRun
		want bool
	}{
		"no run":                         {nil, false},
		"the newest has succeeded":       {[]*tekton.PipelineRun{run(2, ok, "now"), run(1, bad, "now")}, true},
		"the newest has failed":          {[]*tekton.PipelineRun{run(1, ok, "now"), run(2, bad, "now")}, false},
		"the newest had another key":     {[]*tekton.PipelineRun{run(2, ok, "lost"), run(1, ok, "now")}, false},
		"an active run says nothing":     {[]*tekton.PipelineRun{run(1, ok, "now"), run(0, active, "now")}, true},
		"the newest is a copy of a user": {[]*tekton.PipelineRun{run(1, ok, "now"), old}, false},
	} {
		if got := Enrolled(test.runs, "now"); got != test.want {
			t.Errorf("%s: enrolled %t, want %t", name, got, test.want)
		}
	}
}

// TestKeyOfTheSite: only a run that enrolls hosts has the key of the site.
func TestKeyOfTheSite(t *testing.T) {
	for key, want := range map[string]bool{"": false, "site": true} {
		spec := Run{Name: "edge-1", Operation: contract.OperationOf(contract.OperationReset), SSHSecret: "own", SiteSSHSecret: key}.Spec()
		has := false
		for _, w := range spec.Workspaces {
			has = has || w.Name == contract.WorkspaceSiteSSH && w.Secret.SecretName == key
		}
		if enrolls := Enrolls(&tekton.PipelineRun{Spec: spec}); enrolls != want || has != want {
			t.Errorf("Secret %q: the run enrolls: %t, has the key: %t; want %t", key, enrolls, has, want)
		}
	}
}
