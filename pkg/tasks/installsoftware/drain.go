package installsoftware

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/akraino-icn/bpa/pkg/access"
	"github.com/akraino-icn/bpa/pkg/appcluster"
	"github.com/akraino-icn/bpa/pkg/appcluster/drain"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// annotationCordoned is on nodes that this task has cordoned.
const (
	annotationCordoned = "bpa.akraino.org/cordoned-by"
	cordonedBySoftware = "software"
)

// State is what a cluster says of a node.
type State struct {
	Ready    bool
	Boot     string // ID of the boot in which the kubelet has last reported
	Cordoned bool
	Ours     bool // this task has cordoned it
}

// Drainer drains nodes of a cluster.
type Drainer struct {
	kube kubernetes.Interface
	log  io.Writer
}

// Enter connects to the cluster as a user of its own. leave ends the access.
func Enter(ctx context.Context, in Input, ports appcluster.Ports) (cluster Cluster, leave func(), err error) {
	config, leave, err := appcluster.EnterAs(ctx, appcluster.Input{Request: in.Request, Nodes: in.Nodes, PrivateKey: in.PrivateKey, Limit: in.ConnectLimit},
		access.Software, in.SignLimit, ports)
	if err != nil {
		return nil, nil, err
	}
	config.Timeout = in.CallLimit
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		leave()
		return nil, nil, task.Because(appcluster.Reason(err), err)
	}
	return NewDrainer(kube, ports.Log), leave, nil
}

// NewDrainer returns a Drainer that works with this client.
func NewDrainer(kube kubernetes.Interface, log io.Writer) *Drainer {
	return &Drainer{kube: kube, log: log}
}

// States returns the nodes of the cluster by name.
func (d *Drainer) States(ctx context.Context) (map[string]State, error) {
	list, err := d.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the nodes of the cluster: %w", err)
	}
	all := map[string]State{}
	for _, n := range list.Items {
		s := State{Boot: n.Status.NodeInfo.BootID, Cordoned: n.Spec.Unschedulable, Ours: n.Annotations[annotationCordoned] == cordonedBySoftware}
		for _, c := range n.Status.Conditions {
			s.Ready = s.Ready || c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		}
		all[n.Name] = s
	}
	return all, nil
}

// Cordon keeps new pods off a node. It changes nothing on a node that a person has cordoned.
func (d *Drainer) Cordon(ctx context.Context, name string) error {
	n, err := d.kube.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil || n.Spec.Unschedulable {
		return wrap("cordon", name, err)
	}
	return wrap("cordon", name, d.patch(ctx, n, true, cordonedBySoftware))
}

// Uncordon lets a node accept pods again if this task has cordoned it.
func (d *Drainer) Uncordon(ctx context.Context, name string) error {
	n, err := d.kube.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil || n.Annotations[annotationCordoned] != cordonedBySoftware {
		return wrap("uncordon", name, err)
	}
	return wrap("uncordon", name, d.patch(ctx, n, nil, nil))
}

// patch changes the mark and the scheduling of a node in one step. The API server refuses it if somebody
// else has changed the node since it was read.
func (d *Drainer) patch(ctx context.Context, n *corev1.Node, unschedulable, mark any) error {
	text, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": n.ResourceVersion, "annotations": map[string]any{annotationCordoned: mark}},
		"spec":     map[string]any{"unschedulable": unschedulable},
	})
	if err != nil {
		return err
	}
	_, err = d.kube.CoreV1().Nodes().Patch(ctx, n.Name, types.MergePatchType, text, metav1.PatchOptions{})
	if apierrors.IsConflict(err) { // the kubelet reports its state all the time
		fresh, failed := d.kube.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
		if failed != nil {
			return failed
		}
		if fresh.Spec.Unschedulable == n.Spec.Unschedulable && ctx.Err() == nil {
			return d.patch(ctx, fresh, unschedulable, mark)
		}
	}
	return err
}

func wrap(verb, name string, err error) error {
	if err != nil {
		return fmt.Errorf("%s node %s: %w", verb, name, err)
	}
	return nil
}

// Drain evicts the pods of a cordoned node, and waits until they have ended, by the rules of package drain.
func (d *Drainer) Drain(ctx context.Context, name string, limit time.Duration) error {
	err := drain.Evict(ctx, d.kube, name, limit, func(pod corev1.Pod) {
		fmt.Fprintf(d.log, "  %s: pod %s must leave\n", name, drain.Name(&pod))
	})
	if ctx.Err() != nil {
		return fmt.Errorf("the drain of node %s was interrupted: %w", name, errors.Join(ctx.Err(), context.Cause(ctx)))
	}
	if err != nil {
		return fmt.Errorf("node %s was not drained within %s, so its packages were not changed: %w. "+
			"To look at the cause, run on the cluster: kubectl get pdb --all-namespaces", name, limit, err)
	}
	return nil
}
