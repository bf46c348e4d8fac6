package kubespraytest

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akraino-icn/bpa/pkg/appcluster/apitest"
)

// objects returns the objects of the cluster.
func (l *Living) objects(call apitest.Call) (all []runtime.Object, err error) {
	if err := l.Calls(call); err != nil {
		return nil, err
	}
	if l.Change("", false) != 0 {
		return nil, apitest.ErrAborted
	}
	l.Mu.Lock()
	defer l.Mu.Unlock()
	all = append(all, &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "owner"}})
	for name, isReady := range l.Nodes {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Unschedulable: l.Cordoned[name]},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
		if !isReady {
			n.Status.Conditions[0] = corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Reason: "NodeStatusUnknown", Message: "so it is"}
		}
		if l.EachNode != nil {
			l.EachNode(n)
		}
		all = append(all, n)
	}
	for on, pods := range l.pods {
		for _, p := range pods {
			p = p.DeepCopy()
			p.Spec.NodeName = on
			all = append(all, p)
		}
	}
	for _, b := range l.Budgets {
		all = append(all, b)
	}
	if l.Attached != "" {
		all = append(all, &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "volume"}, Spec: storagev1.VolumeAttachmentSpec{NodeName: l.Attached}})
	}
	if l.More != nil {
		all = append(all, l.More(call)...)
	}
	return all, nil
}

// change cordons nodes and evicts pods.
func (l *Living) change(call apitest.Call) error {
	if call.Verb == "evict" {
		return l.evict(call)
	}
	cordons, says := call.Unschedulable()
	if call.Resource != "nodes" || !says {
		l.T.Errorf("an unexpected call: %s %s %s", call.Verb, call.Resource, call.Name)
		return apitest.ErrAborted
	}
	what := map[bool]string{true: "cordon ", false: "uncordon "}[cordons] + call.Name
	if l.Change(what, true) != 0 {
		return apitest.ErrAborted
	}
	l.Mu.Lock()
	defer l.Mu.Unlock()
	l.Cordoned[call.Name] = cordons
	return nil
}

// evict removes a pod from its node. The evictions of one node after the other count as one change.
func (l *Living) evict(call apitest.Call) error {
	l.evicting.Lock() // the task evicts all pods of a node at the same time
	defer l.evicting.Unlock()
	on := l.nodeOf(call.Namespace, call.Name)
	l.Mu.Lock()
	again, stuck := len(l.Did) > 0 && l.Did[len(l.Did)-1] == "drain "+on, l.Stuck[on]
	l.Mu.Unlock()
	if what := map[bool]string{false: "drain " + on}[again]; l.Change(what, true) != 0 {
		return apitest.ErrAborted
	}
	if stuck {
		return apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
	}
	l.Mu.Lock()
	defer l.Mu.Unlock()
	l.pods[on] = slices.DeleteFunc(slices.Clone(l.pods[on]), func(p *corev1.Pod) bool { return p.Namespace == call.Namespace && p.Name == call.Name })
	return nil
}

func (l *Living) nodeOf(namespace, name string) string {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	for on, pods := range l.pods {
		if slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return p.Namespace == namespace && p.Name == name }) {
			return on
		}
	}
	return ""
}

// On lets do be called before each answer to calls of this kind, such as "list pods spec.nodeName=worker-1", "list nodes"
// or "evict pods". Its error is the answer.
func (w *Fixture) On(what string, do func(apitest.Call) error) {
	inner := w.Calls
	w.Calls = func(call apitest.Call) error {
		text := call.Verb + " " + call.Resource + " " + call.Fields + call.Name
		if strings.HasPrefix(text+" ", what+" ") {
			if err := do(call); err != nil {
				return err
			}
		}
		return inner(call)
	}
}
