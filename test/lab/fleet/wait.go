package fleet

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// waitLimit is the time limit for a machine to boot or to disappear. It includes the first pull of
// its image.
const waitLimit = 3 * time.Minute

// waitReady waits until sshd answers on the machine and returns its address.
func (f *Fleet) waitReady(ctx context.Context, pod string) (string, error) {
	var ip, last string
	err := f.waitPod(ctx, pod, func(p *corev1.Pod) bool {
		if p == nil {
			return false
		}
		ip, last = p.Status.PodIP, podState(p)
		return ip != "" && ready(p)
	})
	if err != nil {
		return "", fmt.Errorf("machine %s is not ready: %w; last state of its pod: %s", pod, err, last)
	}
	return ip, nil
}

func (f *Fleet) waitGone(ctx context.Context, pod string) error {
	err := f.waitPod(ctx, pod, func(p *corev1.Pod) bool { return p == nil })
	if err != nil {
		return fmt.Errorf("machine %s was not removed in time: %w", pod, err)
	}
	return nil
}

// waitPod watches one pod until done returns true, for at most waitLimit. It calls done with nil if
// the pod does not exist. It starts a new watch when the server closes one.
func (f *Fleet) waitPod(ctx context.Context, name string, done func(*corev1.Pod) bool) error {
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	one := []client.ListOption{
		client.InNamespace(PodNamespace),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", name)},
	}
	for ctx.Err() == nil {
		var pods corev1.PodList
		if err := f.Client.List(ctx, &pods, one...); err != nil {
			return err
		}
		var now *corev1.Pod
		if len(pods.Items) > 0 {
			now = &pods.Items[0]
		}
		if done(now) {
			return nil
		}
		finished, err := f.watchPod(ctx, &pods, one, done)
		if finished || err != nil {
			return err
		}
	}
	return ctx.Err()
}

// watchPod watches the pod until done returns true for it. The watch starts at the resource version
// of the list in from, so that it misses no event. watchPod returns false when the server ends the
// watch.
func (f *Fleet) watchPod(ctx context.Context, from *corev1.PodList, one []client.ListOption, done func(*corev1.Pod) bool) (bool, error) {
	w, err := f.Client.Watch(ctx, &corev1.PodList{}, append(one, resumeAt(from.ResourceVersion))...)
	if err != nil {
		return false, err
	}
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case e, open := <-w.ResultChan():
			if !open || e.Type == watch.Error {
				return false, nil
			}
			p, isPod := e.Object.(*corev1.Pod)
			if e.Type == watch.Deleted {
				p = nil
			}
			if isPod && done(p) {
				return true, nil
			}
		}
	}
}

// resumeAt is a list option that contains the resource version of a list. A watch with this option
// starts where the list ends.
type resumeAt string

func (r resumeAt) ApplyToList(o *client.ListOptions) {
	o.Raw = &metav1.ListOptions{ResourceVersion: string(r)}
}

func ready(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue && p.DeletionTimestamp == nil
		}
	}
	return false
}

// podState describes the state of a pod in one line, for error messages.
func podState(p *corev1.Pod) string {
	text := string(p.Status.Phase)
	for _, c := range p.Status.ContainerStatuses {
		switch {
		case c.State.Waiting != nil:
			text += ": " + c.State.Waiting.Reason + " " + c.State.Waiting.Message
		case c.State.Terminated != nil:
			text += ": " + c.State.Terminated.Reason + " " + c.State.Terminated.Message
		case !c.Ready:
			text += ": runs, but sshd does not answer yet"
		}
	}
	return text
}
