package provisioning

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/observe"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
	"github.com/akraino-icn/bpa/pkg/runs/tekton/convert"
)

func selector(p *v1alpha1.Provisioning) labels.Selector {
	return labels.SelectorFromSet(labels.Set{contract.LabelCluster: p.Name})
}

// observeRuns reads runs and their tasks from the caches.
func (r *Reconciler) observeRuns(p *v1alpha1.Provisioning, seen *plan.Seen) error {
	runs, err := r.runs.PipelineRuns(p.Namespace).List(selector(p))
	if err != nil {
		return fmt.Errorf("list PipelineRuns: %w", err)
	}
	taskRuns, err := r.taskRuns.TaskRuns(p.Namespace).List(selector(p))
	if err != nil {
		return fmt.Errorf("list TaskRuns: %w", err)
	}
	observe.SortOut(p, convert.Runs(runs), convert.TaskRuns(taskRuns), seen)
	return nil
}

// errRecordBehind is the result of a step that must wait because of recordBehind.
var errRecordBehind = &notYet{"the cache does not show yet what the last run has recorded", behind}

// recordBehind reports whether the API server itself has other records of the tasks than seen: another record of the
// cluster or of its packages, other states of hosts, other claimed nodes, or claims of other hosts. The cache can show the
// end of a run before what its tasks have written. Without the last change of the record, a node that has just joined looks
// like the rest of a failed run, which another run would remove; without that of the claimed nodes, a standby that was just claimed
// looks like a host that has no use any more; without that of the packages, a node looks as if it were still to be rebooted;
// without that of the claims, a run that removes nodes would take the rest of a failed run from the list of nodes.
func (r *Reconciler) recordBehind(ctx context.Context, p *v1alpha1.Provisioning, seen plan.Seen) (bool, error) {
	cm, err1 := r.configMapLive(ctx, p, contract.InstalledName(p.Name))
	packages, err2 := r.configMapLive(ctx, p, contract.SoftwareName(p.Name))
	held, err3 := r.hosts.HeldLive(ctx, ownerOf(p))
	if err := errors.Join(err1, err2, err3); err != nil {
		return false, err
	}
	live, record, claimed := plan.Seen{}, seen.Memory, seen.Nodes
	if cm != nil {
		observe.States(r.reader(ctx, p), cm, &live)
	}
	if seen.Rebuilt {
		record = nil
	}
	if seen.Relisted {
		claimed = nil
	}
	if packages != nil && !seen.Deleting { // see observeSoftware
		live.Software.Record = observe.SoftwareRecord(r.reader(ctx, p), packages)
	}
	same := equality.Semantic.DeepEqual // which cannot compare times
	return !maps.Equal(live.States, seen.States) || !same(live.Memory, record) || !same(live.Nodes, claimed) ||
		!reflect.DeepEqual(live.Software.Record, seen.Software.Record) || !holds(seen, held), nil
}

// holds reports whether these are the hosts that the Provisioning holds according to seen.
func holds(seen plan.Seen, held []hosts.Host) bool {
	number := 0
	for _, h := range seen.Site {
		if h.Ours {
			number++
		}
	}
	return number == len(held) && !slices.ContainsFunc(held, func(h hosts.Host) bool {
		known := seen.Site[h.Name]
		return !known.Ours || known.UID != h.UID
	})
}

// observeWorkersLive asks the API server itself for all objects that may work on the hosts. Stale
// caches would be dangerous: another consumer could claim a host that is released too early, and
// install it while our playbook still works on it. Pods that mount the ConfigMap request count too, even if
// they have ended; empty: none. As long as one exists, its node does not read another immutable ConfigMap of this
// name: the number of a run that was deleted is used again.
func (r *Reconciler) observeWorkersLive(ctx context.Context, p *v1alpha1.Provisioning, request string, seen *plan.Seen) error {
	taskRuns, err := r.observeRunsLive(ctx, p, seen)
	if err != nil {
		return err
	}
	for _, tr := range taskRuns {
		if !tr.IsDone() { // a TaskRun that is not done may still create a pod
			seen.Pods = append(seen.Pods, "TaskRun "+tr.Name)
		}
	}
	pods, err := r.livePods(ctx, p, nil, request)
	seen.Pods = append(seen.Pods, pods...)
	return err
}

// observeRunsLive is like observeRuns, but reads from the API server itself.
func (r *Reconciler) observeRunsLive(ctx context.Context, p *v1alpha1.Provisioning, seen *plan.Seen) ([]*tekton.TaskRun, error) {
	options := metav1.ListOptions{LabelSelector: selector(p).String()}
	runs, err := r.tekton.TektonV1().PipelineRuns(p.Namespace).List(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("list PipelineRuns: %w", err)
	}
	taskRuns, err := r.tekton.TektonV1().TaskRuns(p.Namespace).List(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("list TaskRuns: %w", err)
	}
	all := observe.Pointers(taskRuns.Items)
	observe.SortOut(p, convert.Runs(observe.Pointers(runs.Items)), convert.TaskRuns(all), seen)
	return all, nil
}

// livePods returns the names of the pods that have not ended, or that mount the ConfigMap request. It considers only pods that have the
// cluster's label and every label in with. If with is nil, the cluster's label is enough. The
// result includes pods of runs that belong to an earlier Provisioning of the same name.
func (r *Reconciler) livePods(ctx context.Context, p *v1alpha1.Provisioning, with labels.Set, request string) ([]string, error) {
	of := labels.SelectorFromSet(labels.Merge(labels.Set{contract.LabelCluster: p.Name}, with))
	pods, err := r.kube.CoreV1().Pods(p.Namespace).List(ctx, metav1.ListOptions{LabelSelector: of.String()})
	if err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	var alive []string
	for _, pod := range pods.Items {
		mounts := slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.ConfigMap != nil && v.ConfigMap.Name == request })
		if mounts || pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			alive = append(alive, pod.Name)
		}
	}
	return alive, nil
}
