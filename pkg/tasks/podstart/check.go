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

	corev1 "k8s.io/api/core/v1"
)

// Cluster runs commands on a control plane.
type Cluster interface {
	// Kubectl runs kubectl as the administrator of the cluster. stdin is nil if there is no input.
	Kubectl(ctx context.Context, arguments string, stdin []byte) ([]byte, error)
	// Root runs another command as root.
	Root(ctx context.Context, command string) ([]byte, error)
}

const (
	// Limit is the default time in which all pods must be Ready. A node that has the image needs seconds.
	Limit = 2 * time.Minute
	// cleanLimit bounds the deletion of the pods after a cancellation.
	cleanLimit = 15 * time.Second
	// manyAtOnce is the number of pods in one call.
	manyAtOnce = 100
	// mostExplained is the number of nodes whose events are read for the message.
	mostExplained = 5
)

// Check starts one pod on each of the nodes, all at the same time, and waits until they are Ready or the limit is
// over. It returns by node why a pod did not become Ready. It is an error if this is not known, such as
// after a cancellation. The names of the nodes must be safe in a shell.
func Check(ctx context.Context, c Cluster, nodes []string, poll, limit time.Duration, log io.Writer) (failed map[string]string, err error) {
	if len(nodes) == 0 {
		return nil, nil
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	fmt.Fprintf(log, "\nStarting a pod on each of these nodes: %s\n", strings.Join(nodes, ", "))
	if _, err := c.Kubectl(limited, deletePods(label), nil); err != nil { // of a task that was killed
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
		if _, failed := c.Kubectl(clean, deletePods(label+"="+check), nil); failed != nil {
			fmt.Fprintf(log, "  The pods were not deleted; the next check deletes them: %v\n", failed)
		}
	}()
	for some := range slices.Chunk(nodes, manyAtOnce) {
		manifest, err := pods(images, some, check)
		if err != nil {
			return nil, err
		}
		if _, err := c.Kubectl(limited, "create --filename -", manifest); err != nil {
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

func deletePods(selector string) string {
	return "delete pods --namespace " + namespace + " --selector " + selector + " --ignore-not-found --wait=false"
}

// findImages returns the image for the pod on each node.
func findImages(ctx context.Context, c Cluster, nodes []string) (map[string]string, error) {
	var all corev1.NodeList
	if err := get(ctx, c, "nodes", &all); err != nil {
		return nil, err
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
		var list corev1.PodList
		err := get(ctx, c, "pods --namespace "+namespace+" --selector "+label+"="+check, &list)
		if err == nil {
			left := false
			if last, left = judgeAll(list.Items, nodes); !left {
				return last, nil
			}
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
		var events corev1.EventList
		if err := get(ctx, c, "events --namespace "+namespace+" --field-selector involvedObject.name="+p.pod+",type=Warning", &events); err != nil || len(events.Items) == 0 {
			continue
		}
		newest := slices.MaxFunc(events.Items, func(a, b corev1.Event) int { return a.LastTimestamp.Compare(b.LastTimestamp.Time) })
		failed[node] = words(newest.Reason, newest.Message)
	}
	return failed
}

// get reads objects of the cluster.
func get(ctx context.Context, c Cluster, what string, into any) error {
	kind, _, _ := strings.Cut(what, " ")
	raw, err := c.Kubectl(ctx, "get "+what+" --output json --request-timeout=30s", nil)
	if err != nil {
		return fmt.Errorf("read %s of the cluster: %w", kind, err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("read %s of the cluster: the output of kubectl is unreadable: %w", kind, err)
	}
	return nil
}
