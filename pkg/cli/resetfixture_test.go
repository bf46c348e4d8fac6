package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"knative.dev/pkg/apis"
	duckv1 "knative.dev/pkg/apis/duck/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/runs/tekton"
)

// usedHost returns a free host that the deleted Provisioning edge-9 has used.
func usedHost(n int, changes ...func(*metal3.BareMetalHost)) *metal3.BareMetalHost {
	h := bareMetal(n, 8, func(h *metal3.BareMetalHost) {
		h.UID = types.UID(fmt.Sprintf("host-uid-%d", n))
		h.Annotations = map[string]string{contract.AnnotationUsedBy: "site-a/edge-9 gone"}
	})
	for _, change := range changes {
		change(h)
	}
	return h
}

func sshKey() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "site-a", Name: "ssh-key"}, Data: map[string][]byte{"ssh-privatekey": []byte("key")}}
}

// resets is a terminal whose cluster has a Tekton: started is called when a run is no longer
// pending, creating before a run is created, and created after that.
type resets struct {
	*terminal
	started, creating, created func(*tekton.PipelineRun)
	refuse                     string // the name of an object that cannot be created
	uids                       int
}

func newResets(t *testing.T, objects ...client.Object) *resets {
	r := &resets{terminal: newTerminal(t, objects...)}
	r.started, r.creating, r.created = func(*tekton.PipelineRun) {}, func(*tekton.PipelineRun) {}, func(*tekton.PipelineRun) {}
	r.cluster = interceptor.NewClient(r.cluster, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if o.GetName() == r.refuse {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "roles"}, o.GetName(), fmt.Errorf("no right"))
			}
			r.uids++
			o.SetUID(types.UID(fmt.Sprintf("uid-%d", r.uids)))
			run, isRun := o.(*tekton.PipelineRun)
			if isRun {
				r.creating(run)
			}
			err := c.Create(ctx, o, opts...)
			if isRun && err == nil {
				r.created(run)
			}
			return err
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			err := c.Patch(ctx, o, p, opts...)
			if run, is := o.(*tekton.PipelineRun); is && err == nil && run.Spec.Status == "" {
				r.started(run.DeepCopy())
			}
			return err
		},
	})
	return r
}

func (r *resets) get(name string, into client.Object) {
	r.t.Helper()
	if err := r.cluster.Get(r.t.Context(), client.ObjectKey{Namespace: "site-a", Name: name}, into); err != nil {
		r.t.Error(err)
	}
}

func (r *resets) update(o client.Object) {
	r.t.Helper()
	if err := r.cluster.Update(r.t.Context(), o); err != nil {
		r.t.Error(err)
	}
}

// end ends a run: it writes the states of the hosts and the result of the task.
func (r *resets) end(run *tekton.PipelineRun, states contract.HostStates, failure string) {
	var cm corev1.ConfigMap
	r.get(contract.InstalledName(run.Name), &cm)
	text, _ := json.Marshal(states)
	cm.Data = map[string]string{contract.KeyHosts: string(text)}
	r.update(&cm)
	condition := apis.Condition{Type: apis.ConditionSucceeded, Status: corev1.ConditionTrue, Reason: "Succeeded", Message: "Tasks Completed: 1"}
	if failure != "" {
		condition.Status, condition.Reason = corev1.ConditionFalse, "Failed"
		task := &tekton.TaskRun{ObjectMeta: metav1.ObjectMeta{Namespace: "site-a", Name: run.Name + "-kubespray", Labels: map[string]string{"tekton.dev/pipelineRun": run.Name}}}
		task.Status.Results = []tekton.TaskRunResult{{Name: contract.ResultFailure, Value: *tekton.NewStructuredValues(failure)}}
		if err := r.cluster.Create(r.t.Context(), task); err != nil {
			r.t.Error(err)
		}
	}
	now := &tekton.PipelineRun{}
	r.get(run.Name, now)
	now.Status.Conditions = duckv1.Conditions{condition}
	r.update(now)
}

// forget discards the output of the earlier commands.
func (r *resets) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out.Reset()
}

// marks returns the mark and the quarantine of a host: "site-a/edge-9 gone|".
func (r *resets) marks(host string) string {
	r.t.Helper()
	h := &metal3.BareMetalHost{}
	r.get(host, h)
	return h.Annotations[contract.AnnotationUsedBy] + "|" + h.Annotations[contract.AnnotationQuarantine]
}
