package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/akraino-icn/bpa/pkg/appcluster/drain"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// drainage is the drain of one node.
type drainage struct {
	w     *Client
	name  string
	limit time.Duration
	stays bool // as in drainer
	ours  bool // BPA has cordoned the node, so that it is uncordoned after a failure
	log   io.Writer
	// report receives the part of the drain that is done, 0 to 1.
	report func(done float64, step string)

	left  []corev1.Pod // must still leave
	most  int          // the largest number of them
	sick  time.Time    // since when the node has been seen not Ready; zero: it was Ready, or is not known
	empty time.Time    // when no pod was left for the first time
	said  string       // the last error, or refusal of an eviction
}

// errDied reports that a node that is to stay stopped working during its drain.
var errDied = errors.New("it is not Ready any more, so its pods cannot end. The node was not changed. Repair it; the next attempt continues")

// round evicts pods for a short time. It reports whether the node is drained, or is dead, so that
// nothing more can be done.
func (d *drainage) round(ctx context.Context) (done bool, err error) {
	ready, err := d.w.Registered(ctx)
	switch {
	case err != nil: // while no API server answers, the heartbeats of a node that is alive are lost too
		d.sick = time.Time{}
		return false, err
	case ready[d.name]:
		d.sick = time.Time{}
	case d.sick.IsZero():
		d.sick = time.Now()
	case time.Since(d.sick) > d.patience() && d.stays:
		return false, errDied
	case time.Since(d.sick) > d.patience():
		fmt.Fprintf(d.log, "  node %s is not Ready, so its pods cannot end. They are deleted with the node\n", d.name)
		return true, nil
	}
	if err := d.look(ctx); err != nil {
		return false, err
	}
	if len(d.left) > 0 && ready[d.name] {
		if err := d.evict(ctx); err != nil {
			return false, err
		}
		if err := d.look(ctx); err != nil {
			return false, err
		}
	}
	if len(d.left) > 0 {
		return false, nil
	}
	return d.volumesGone(ctx)
}

// look reads which pods are left, and reports their number.
func (d *drainage) look(ctx context.Context) error {
	left, err := d.pods(ctx)
	if err != nil {
		return err
	}
	if d.left = left; d.most == 0 && len(left) > 0 {
		d.tell()
	}
	d.most = max(d.most, len(left))
	if len(left) > 0 {
		d.report(1-float64(len(left))/float64(d.most), "Drain "+d.name+": "+session.Count(len(left), "pod")+" left")
	}
	return nil
}

// pods returns the pods that must leave.
func (d *drainage) pods(ctx context.Context) ([]corev1.Pod, error) {
	return Call(ctx, d.w, func(ctx context.Context, kube kubernetes.Interface) ([]corev1.Pod, error) {
		return drain.Left(ctx, kube, d.name)
	})
}

// evict evicts pods for a short time. Pods that are left are no error.
func (d *drainage) evict(ctx context.Context) error {
	limit := min(drainRound, d.w.Input.ProbeLimit/2)
	if end, limited := ctx.Deadline(); limited {
		limit = min(limit, time.Until(end))
	}
	var incomplete *drain.Incomplete
	err := d.w.Do(ctx, func(ctx context.Context, kube kubernetes.Interface) error {
		err := drain.Evict(ctx, kube, d.name, limit, nil)
		if errors.As(err, &incomplete) {
			return nil // the next look finds out whether the API server answers
		}
		return err
	})
	if incomplete != nil {
		d.said = session.Printable(cmp.Or(incomplete.Refusal, incomplete.Error()))
	}
	return err
}

// patience is how long the node may not be Ready.
func (d *drainage) patience() time.Duration { return min(DeadAfter, 2*d.w.Input.ProbeLimit, d.limit/2) }

// tell logs which pods are lost, because no controller creates them again.
func (d *drainage) tell() {
	fmt.Fprintf(d.log, "  %s must leave\n", session.Count(len(d.left), "pod"))
	alone := slices.DeleteFunc(slices.Clone(d.left), func(p corev1.Pod) bool { return len(p.OwnerReferences) > 0 })
	if len(alone) > 0 {
		fmt.Fprintf(d.log, "  no controller owns %s, so no other node starts them again\n", listPods(alone, 10))
	}
}

// volumesGone reports whether all volumes are detached from the drained node. It waits only as long
// as for a dead node, because the volumes of pods that stay are not detached before the node is
// deleted.
func (d *drainage) volumesGone(ctx context.Context) (bool, error) {
	if d.empty.IsZero() {
		d.empty = time.Now()
	}
	volumes, err := Call(ctx, d.w, func(ctx context.Context, kube kubernetes.Interface) (*storagev1.VolumeAttachmentList, error) {
		return kube.StorageV1().VolumeAttachments().List(ctx, metav1.ListOptions{})
	})
	if err != nil {
		return false, fmt.Errorf("read the volume attachments of the cluster: %w", err)
	}
	for _, v := range volumes.Items {
		if v.Spec.NodeName == d.name {
			return time.Since(d.empty) > d.patience(), nil
		}
	}
	return true, nil
}

// blocked returns the error of a drain whose time is over. It names the pods that are left, why
// they are, and the next command.
func (d *drainage) blocked(ctx context.Context) error {
	failed := &task.Error{Reason: contract.ReasonDrainBlocked, Host: d.name, Step: "drain the node"}
	left, err := d.pods(ctx)
	if err != nil {
		left = d.left // as seen before the time was over
	}
	if len(left) == 0 {
		failed.Err = fmt.Errorf("node %s was not drained within %s: %s. The next attempt continues", d.name, d.limit, cmp.Or(d.said, "its volumes are still attached"))
		return failed
	}
	budgets, err := Call(ctx, d.w, drain.Budgets)
	if err != nil {
		d.said = err.Error()
	}
	var texts []string
	next := "kubectl get pods --all-namespaces --field-selector spec.nodeName=" + d.name
	found := false
	const most = 3
	for i, p := range left {
		why, b := drain.Obstacle(p, budgets)
		if i < most {
			texts = append(texts, fmt.Sprintf("%s (%s)", drain.Name(&p), why))
		}
		if b != nil && !found {
			found = true
			next = session.Printable(fmt.Sprintf("kubectl describe pdb %s -n %s", b.Name, b.Namespace))
		}
	}
	if over := len(left) - most; over > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", over))
	}
	detail := ""
	if !found && d.said != "" {
		detail = " The API server says: " + d.said + "."
	}
	then, setting := "The node stays cordoned, as it was before the drain", "spec.timeouts.drain"
	if d.ours {
		then = "The node accepts pods again"
	}
	if d.stays {
		setting = "spec.upgrade.drainTimeout"
	}
	failed.Err = fmt.Errorf("%s did not leave node %s within %s: %s.%s %s, and the next attempt drains it. "+
		"To look at the cause, run on the cluster: %s. To wait longer, raise %s",
		session.Count(len(left), "pod"), d.name, d.limit, strings.Join(texts, ", "), detail, then, next, setting)
	return failed
}

func listPods(pods []corev1.Pod, most int) string {
	var names []string
	for _, p := range pods[:min(len(pods), most)] {
		names = append(names, drain.Name(&p))
	}
	if over := len(pods) - most; over > 0 {
		names = append(names, fmt.Sprintf("and %d more", over))
	}
	return strings.Join(names, ", ")
}
