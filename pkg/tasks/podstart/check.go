package podstart

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// Cluster is a cluster as its administrator has it.
type Cluster interface {
	// Core lets do call the API server.
	Core(ctx context.Context, do func(context.Context, typedcorev1.CoreV1Interface) error) error
	// Root runs a command as root on a control plane.
	Root(ctx context.Context, command string) ([]byte, error)
}

const (
	// Limit is the default time in which all pods must be Ready. A node that has the image needs seconds.
	Limit = 2 * time.Minute
	// cleanLimit bounds the deletion of the pods after a cancellation.
	cleanLimit = 15 * time.Second
	// manyAtOnce is the number of pods that are created in one call of Cluster.Core, and createAtOnce how many of them at
	// the same time.
	manyAtOnce, createAtOnce = 100, 10
	// changeLimit bounds one watch: a lost connection shows no change.
	changeLimit = 10 * time.Second
	// mostExplained is the number of nodes whose events are read for the message.
	mostExplained = 5
)

// Check starts one pod on each of the nodes, all at the same time, and waits until they are Ready or the limit is
// over. It returns by node why a pod did not become Ready. It is an error if this is not known, such as
// after a cancellation.
func Check(ctx context.Context, c Cluster, nodes []string, poll, limit time.Duration, log io.Writer) (failed map[string]string, err error) {
	if len(nodes) == 0 {
		return nil, nil
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	fmt.Fprintf(log, "\nStarting a pod on each of these nodes: %s\n", strings.Join(nodes, ", "))
	if err := deletePods(limited, c, label); err != nil { // of a task that was killed
		return nil, fmt.Errorf("delete the pods of an earlier check: %w", err)
	}
	images, err := findImages(limited, c, nodes)
	if err != nil {
		return nil, err
	}
	check := strings.ToLower(rand.Text()[:10])
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanLimit)
		defer cancel()
		if failed := deletePods(clean, c, label+"="+check); failed != nil {
			fmt.Fprintf(log, "  The pods were not deleted; the next check deletes them: %v\n", failed)
		}
	}()
	for some := range slices.Chunk(nodes, manyAtOnce) {
		if err := createPods(limited, c, images, some, check); err != nil {
			return nil, fmt.Errorf("create pods: %w", err)
		}
	}
	waiting, err := await(limited, c, nodes, check, poll)
	if err != nil || ctx.Err() != nil {
		return nil, errors.Join(err, ctx.Err())
	}
	if len(waiting) == 0 {
		fmt.Fprintf(log, "  All of them start pods\n")
	}
	return explain(ctx, c, waiting), nil
}

func deletePods(ctx context.Context, c Cluster, selector string) error {
	return c.Core(ctx, func(ctx context.Context, core typedcorev1.CoreV1Interface) error {
		return core.Pods(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: selector})
	})
}

// createPods creates a pod on each of the nodes.
func createPods(ctx context.Context, c Cluster, images map[string]string, nodes []string, check string) error {
	return c.Core(ctx, func(ctx context.Context, core typedcorev1.CoreV1Interface) error {
		all, ctx := errgroup.WithContext(ctx)
		all.SetLimit(createAtOnce)
		for _, node := range nodes {
			p := pod(node, images[node], check)
			all.Go(func() error {
				_, err := core.Pods(namespace).Create(ctx, &p, metav1.CreateOptions{})
				return err
			})
		}
		return all.Wait()
	})
}

// findImages returns the image for the pod on each node.
func findImages(ctx context.Context, c Cluster, nodes []string) (map[string]string, error) {
	var all *corev1.NodeList
	err := c.Core(ctx, func(ctx context.Context, core typedcorev1.CoreV1Interface) (err error) {
		all, err = core.Nodes().List(ctx, metav1.ListOptions{})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the nodes of the cluster: %w", err)
	}
	if images := pauseImages(all.Items, nodes); images != nil {
		return images, nil
	}
	raw, err := c.Root(ctx, `env PATH="$PATH:/usr/local/bin:/opt/bin" crictl images --output json`)
	var list struct{ Images []struct{ RepoTags []string } }
	if err == nil {
		err = json.Unmarshal(raw, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("list the images of a control plane: %w", err)
	}
	ref := ""
	for _, image := range list.Images {
		ref = max(ref, pauseOf(image.RepoTags))
	}
	if ref == "" {
		return nil, errors.New("no node has an image with the name pause, from which a pod can be started")
	}
	images := map[string]string{}
	for _, name := range nodes {
		images[name] = ref
	}
	return images, nil
}

// pending is a pod that is not Ready.
type pending struct {
	pod string // its name; empty: it does not exist
	why string
}

// await returns the pods that are not Ready at the end, by node.
func await(ctx context.Context, c Cluster, nodes []string, check string, poll time.Duration) (map[string]pending, error) {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	var last map[string]pending
	for {
		list, err := listPods(ctx, c, check)
		if err == nil {
			left := false
			if last, left = judgeAll(list.Items, nodes); !left {
				return last, nil
			}
		}
		if err == nil {
			awaitChange(ctx, c, check, list.ResourceVersion)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if last == nil {
				return nil, err
			}
			return last, nil
		}
	}
}

func listPods(ctx context.Context, c Cluster, check string) (list *corev1.PodList, err error) {
	err = c.Core(ctx, func(ctx context.Context, core typedcorev1.CoreV1Interface) (err error) {
		list, err = core.Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: label + "=" + check})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read pods of the cluster: %w", err)
	}
	return list, nil
}

// awaitChange waits until a pod of the check changes after this version of their list, at most for changeLimit. What
// is wrong with the API server, the next list tells.
func awaitChange(ctx context.Context, c Cluster, check, version string) {
	ctx, cancel := context.WithTimeout(ctx, changeLimit)
	defer cancel()
	_ = c.Core(ctx, func(ctx context.Context, core typedcorev1.CoreV1Interface) error {
		seen, err := core.Pods(namespace).Watch(ctx, metav1.ListOptions{LabelSelector: label + "=" + check, ResourceVersion: version})
		if err != nil {
			return err
		}
		defer seen.Stop()
		select {
		case <-seen.ResultChan():
		case <-ctx.Done():
		}
		return nil
	})
}

// judgeAll returns the pods that are not Ready, and whether some of them can become so.
func judgeAll(all []corev1.Pod, nodes []string) (waiting map[string]pending, left bool) {
	waiting = map[string]pending{}
	for _, node := range nodes {
		i := slices.IndexFunc(all, func(p corev1.Pod) bool { return p.Spec.NodeName == node })
		if i < 0 {
			waiting[node] = pending{why: "the pod was deleted by another program"}
			continue
		}
		ready, why, failed := judge(all[i])
		if !ready {
			waiting[node], left = pending{all[i].Name, why}, left || !failed
		}
	}
	return waiting, left
}

// explain returns why the pods are not Ready, with the events of the first nodes by name. The last warning about a
// pod says more than its status.
func explain(ctx context.Context, c Cluster, waiting map[string]pending) map[string]string {
	if len(waiting) == 0 {
		return nil
	}
	failed := map[string]string{}
	for i, node := range slices.Sorted(maps.Keys(waiting)) {
		p := waiting[node]
		failed[node] = p.why
		if p.pod == "" || i >= mostExplained {
			continue
		}
		events, err := warnings(ctx, c, p.pod)
		if err != nil || len(events) == 0 {
			continue
		}
		newest := slices.MaxFunc(events, func(a, b corev1.Event) int { return a.LastTimestamp.Compare(b.LastTimestamp.Time) })
		failed[node] = words(newest.Reason, newest.Message)
	}
	return failed
}

// warnings returns the warnings about a pod.
func warnings(ctx context.Context, c Cluster, pod string) (all []corev1.Event, err error) {
	err = c.Core(ctx, func(ctx context.Context, core typedcorev1.CoreV1Interface) error {
		list, err := core.Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + pod + ",type=" + corev1.EventTypeWarning})
		if err == nil {
			all = list.Items
		}
		return err
	})
	return all, err
}
