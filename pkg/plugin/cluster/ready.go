package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// NotReadyError reports objects that did not become ready.
type NotReadyError struct{ Message string }

func (e *NotReadyError) Error() string { return e.Message }

// stateless are kinds whose objects are ready as soon as they exist. A namespace can be one that is not the
// plugin's, so that it has no label.
var stateless = []string{
	"Namespace", "ConfigMap", "Secret", "ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "PriorityClass", "NetworkPolicy",
	"LimitRange", "ResourceQuota", "RuntimeClass", "StorageClass", "CSIDriver", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
}

// Ready waits until objects of a plugin are ready, for at most limit. If one of them does not become ready,
// the error is a NotReadyError, which says what keeps it.
func (c *Client) Ready(ctx context.Context, plugin string, objects []*unstructured.Unstructured, limit time.Duration) error {
	w, err := c.newWaiting(objects)
	if err != nil {
		return err
	}
	if len(w.verdicts) == 0 {
		return nil
	}
	within, cancel := context.WithTimeoutCause(ctx, limit, errSlow)
	defer cancel()
	changes := make(chan change, 100)
	for k, namespace := range w.sources {
		c.watch(within, k, namespace, metav1.ListOptions{LabelSelector: contract.LabelPlugin + "=" + plugin}, changes)
	}
	if slices.ContainsFunc(objects, isDaemonSet) {
		c.watch(within, nodeKind, "", metav1.ListOptions{}, changes)
	}
	for {
		select {
		case one := <-changes:
			if v := w.see(one); v != nil {
				return c.failed(ctx, *v)
			}
			if err := c.seeDaemonSets(within, w, one); err != nil && within.Err() == nil {
				w.failed = err // the next change is judged again
			}
			if w.done() {
				return nil
			}
		case <-within.Done():
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return c.notReady(ctx, w, limit)
		}
	}
}

// waiting is what is known about the objects that must become ready.
type waiting struct {
	verdicts map[string]verdict
	order    []string
	sources  map[kind]string // the kinds to watch, and the namespace; empty: all
	failed   error           // of a watch
}

type verdict struct {
	ref    Ref
	ready  bool
	why    string
	latest *unstructured.Unstructured // nil: not seen
}

func (c *Client) newWaiting(objects []*unstructured.Unstructured) (*waiting, error) {
	w := &waiting{verdicts: map[string]verdict{}, sources: map[kind]string{}}
	for _, o := range objects {
		if builtIn(o.GetAPIVersion()) && slices.Contains(stateless, o.GetKind()) {
			continue
		}
		k, err := c.kinds.find(o.GetAPIVersion(), o.GetKind())
		if err != nil {
			return nil, err
		}
		if !k.watched {
			continue
		}
		r := refOf(o)
		if slices.Contains(c.released, r) {
			continue
		}
		w.verdicts[r.id()] = verdict{ref: r, why: "it does not exist"}
		w.order = append(w.order, r.id())
		if namespace, ok := w.sources[k]; ok && namespace != r.Namespace {
			w.sources[k] = metav1.NamespaceAll
		} else {
			w.sources[k] = r.Namespace
		}
	}
	return w, nil
}

// see records a change. It returns the object of the change if that can never become ready.
func (w *waiting) see(one change) *verdict {
	if one.err != nil {
		w.failed = one.err
		return nil
	}
	id := refOf(one.object).id()
	v, ok := w.verdicts[id]
	if !ok {
		return nil
	}
	if one.gone {
		// A Job that was ready can have been deleted because of its ttlSecondsAfterFinished.
		v.ready = v.ready && v.ref.Kind == "Job"
		v.why, v.latest = "it was deleted", nil
		w.verdicts[id] = v
		return nil
	}
	ready, final, why := judge(one.object)
	v.ready, v.why, v.latest = ready, why, one.object
	w.verdicts[id] = v
	if final {
		return &v
	}
	return nil
}

func (c *Client) failed(ctx context.Context, v verdict) error {
	message := fmt.Sprintf("%s has failed: %s", v.ref, v.why)
	if cause := c.cause(ctx, v); cause != "" {
		message += "; " + cause
	}
	return &NotReadyError{message}
}

func (w *waiting) done() bool {
	for _, v := range w.verdicts {
		if !v.ready {
			return false
		}
	}
	return true
}

// judge returns whether an object is ready, and the reason why it is not. final reports that it can never
// become ready.
func judge(o *unstructured.Unstructured) (ready, final bool, why string) {
	switch {
	case isJob(o):
		return judgeJob(o)
	case o.GetKind() == "APIService" && groupOf(o.GetAPIVersion()) == "apiregistration.k8s.io":
		why, ok := condition(o, "Available")
		return ok, false, why
	}
	result, err := status.Compute(o)
	if err != nil {
		return false, false, err.Error()
	}
	return result.Status == status.CurrentStatus, false, result.Message
}

// judgeJob is stricter than kstatus, for which a Job that has started is ready.
func judgeJob(o *unstructured.Unstructured) (ready, final bool, why string) {
	if why, failed := condition(o, "Failed"); failed {
		return false, true, why
	}
	if _, complete := condition(o, "Complete"); complete {
		return true, false, ""
	}
	return false, false, "the Job has not ended"
}

// condition reports whether a condition of an object is True, and returns its message.
func condition(o *unstructured.Unstructured, name string) (message string, isTrue bool) {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, one := range conditions {
		c, _ := one.(map[string]any)
		if c["type"] == name {
			message, _ = c["message"].(string)
			return message, c["status"] == "True"
		}
	}
	return "it has no condition " + name, false
}

// notReady describes the objects that are not ready.
func (c *Client) notReady(ctx context.Context, w *waiting, limit time.Duration) error {
	var texts []string
	for _, id := range w.order {
		v := w.verdicts[id]
		if v.ready {
			continue
		}
		if len(texts) == mostNamed {
			texts = append(texts, "and others")
			break
		}
		text := fmt.Sprintf("%s: %s", v.ref, v.why)
		if cause := c.cause(ctx, v); cause != "" {
			text += "; " + cause
		}
		texts = append(texts, text)
	}
	message := fmt.Sprintf("not ready within %s: %s", limit, strings.Join(texts, ". "))
	if w.failed != nil {
		message += fmt.Sprintf(" (%v)", w.failed)
	}
	return &NotReadyError{message}
}

// IsNotReady reports whether an error says that objects did not become ready, so that the same plugin can
// become ready later.
func IsNotReady(err error) bool {
	var e *NotReadyError
	return errors.As(err, &e)
}
