package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/plugin"
)

// cleanupWithin bounds the time to delete a test of a run that was cancelled.
const cleanupWithin = 8 * time.Second

// Test runs the test of a plugin in a namespace of its own, which is gone afterwards. It has passed when
// all Jobs are complete within limit. An error means that the test could not run.
func (c *Client) Test(ctx context.Context, name string, objects []*unstructured.Unstructured, limit time.Duration, limits Limits) (result contract.PluginTest, err error) {
	c.kinds.forget()
	if err := c.cleanTest(ctx, name, limits); err != nil { // of a run that was killed
		return result, err
	}
	defer func() {
		until := ctx
		if ctx.Err() != nil {
			var cancel context.CancelFunc
			until, cancel = context.WithTimeout(context.WithoutCancel(ctx), cleanupWithin)
			defer cancel()
		}
		if failed := c.cleanTest(until, name, limits); failed != nil && err == nil && ctx.Err() == nil {
			err = failed
		}
	}()
	if err := c.startTest(ctx, name, objects); err != nil {
		return result, err
	}
	return c.awaitTest(ctx, name, jobsOf(objects), limit)
}

func jobsOf(objects []*unstructured.Unstructured) (jobs []*unstructured.Unstructured) {
	for _, o := range objects {
		if isJob(o) {
			jobs = append(jobs, o)
		}
	}
	return jobs
}

// startTest creates the namespace and the objects of a test.
func (c *Client) startTest(ctx context.Context, name string, objects []*unstructured.Unstructured) error {
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: plugin.TestNamespace(name), Labels: map[string]string{
		contract.LabelPlugin: name, partOf: "bpa", "pod-security.kubernetes.io/enforce": "privileged", // a test may look at devices
	}}}
	if _, err := c.kube.CoreV1().Namespaces().Create(ctx, space, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create the namespace of the test: %w", err)
	}
	placed, err := c.place(Set{Plugin: name, Namespace: space.Name, Objects: objects})
	if err != nil {
		return err
	}
	if placed, err = c.oursOfTest(ctx, name, placed); err != nil {
		return err
	}
	if global := refsOf(globalOf(placed)); len(global) > 0 {
		if err := c.write(ctx, name, keyTest, global); err != nil {
			return err
		}
	}
	for _, o := range placed {
		if err := c.apply(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// globalOf returns the objects that are in no namespace.
func globalOf(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objects), func(o *unstructured.Unstructured) bool { return o.GetNamespace() != "" })
}

// oursOfTest leaves out the objects that the test uses as they are. Objects in the namespace of the test
// are all the test's, also those that Kubernetes creates there.
func (c *Client) oursOfTest(ctx context.Context, name string, placed []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	global, err := c.ours(ctx, name, globalOf(placed), nil)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(placed, func(o *unstructured.Unstructured) bool { return o.GetNamespace() == "" && !slices.Contains(global, o) }), nil
}

// cleanTest deletes everything of a plugin's test, and waits until it is gone.
func (c *Client) cleanTest(ctx context.Context, name string, limits Limits) error {
	global, err := c.read(ctx, name, keyTest)
	if err != nil {
		return err
	}
	space := Ref{APIVersion: "v1", Kind: "Namespace", Name: plugin.TestNamespace(name)}
	there, err := c.get(ctx, space)
	if err != nil {
		return err
	}
	if there != nil && belongs(there, name) {
		now := metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](1)} // nobody needs what the test's pods still have to say
		err := c.kube.CoreV1().Pods(space.Name).DeleteCollection(ctx, now, metav1.ListOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete the pods of the test: %w", err)
		}
		if err := c.removeSpace(ctx, name, space, limits); err != nil {
			return err
		}
	}
	if len(global) == 0 {
		return nil
	}
	if _, err := c.remove(ctx, name, global, limits); err != nil {
		return fmt.Errorf("delete the objects of the test: %w", err)
	}
	return c.write(ctx, name, keyTest, nil)
}

// removeSpace deletes the namespace of a test with everything in it.
func (c *Client) removeSpace(ctx context.Context, name string, space Ref, limits Limits) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limits.Gone, errSlow)
	defer cancel()
	k, err := c.kinds.find(space.APIVersion, space.Kind)
	if err != nil {
		return err
	}
	deleted, err := c.delete(ctx, name, space, k)
	if err != nil || deleted == nil {
		return err
	}
	return c.awaitGone(ctx, []doomed{*deleted})
}

// awaitTest waits until all Jobs have ended.
func (c *Client) awaitTest(ctx context.Context, name string, jobs []*unstructured.Unstructured, limit time.Duration) (contract.PluginTest, error) {
	namespace := plugin.TestNamespace(name)
	err := c.Ready(ctx, name, jobs, limit)
	switch {
	case err == nil:
		return contract.PluginTest{State: contract.TestPassed, Message: c.output(ctx, namespace, jobs, false)}, nil
	case !IsNotReady(err):
		return contract.PluginTest{}, err
	}
	message := err.Error()
	if text := c.output(ctx, namespace, jobs, true); text != "" {
		message += "; its output ends with: " + text
	}
	return contract.PluginTest{State: contract.TestFailed, Message: message}, nil
}

// Limits of the output of a test that is kept, for each Job.
const (
	outputLines = 20
	outputBytes = 16 << 10
	outputKept  = 600
)

// output returns the end of the output of the test: of the pod of a Job that has not succeeded, or of each
// Job.
func (c *Client) output(ctx context.Context, namespace string, jobs []*unstructured.Unstructured, failing bool) string {
	ctx, cancel := context.WithTimeout(ctx, causeWithin)
	defer cancel()
	var texts []string
	for _, job := range jobs {
		pods, err := c.kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "batch.kubernetes.io/job-name=" + job.GetName(), Limit: mostListed})
		if err != nil {
			continue
		}
		list := slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return (p.Status.Phase == corev1.PodSucceeded) == failing })
		if len(list) == 0 {
			continue
		}
		pod := slices.MaxFunc(list, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
		if text := c.tail(ctx, pod); text != "" {
			texts = append(texts, text)
		}
		if failing {
			break
		}
	}
	text := strings.Join(texts, "\n")
	if len(text) > outputKept {
		text = "..." + strings.ToValidUTF8(text[len(text)-outputKept:], "")
	}
	return text
}

// tail returns the last lines of a pod's log, of the container that has failed if there is one.
func (c *Client) tail(ctx context.Context, pod corev1.Pod) string {
	options := &corev1.PodLogOptions{TailLines: ptr.To[int64](outputLines), LimitBytes: ptr.To[int64](outputBytes)}
	for _, s := range append(append([]corev1.ContainerStatus{}, pod.Status.InitContainerStatuses...), pod.Status.ContainerStatuses...) {
		if t := s.State.Terminated; t != nil && t.ExitCode != 0 {
			options.Container = s.Name
			break
		}
	}
	stream, err := c.kube.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, options).Stream(ctx)
	if err != nil {
		return ""
	}
	defer stream.Close()
	text, err := io.ReadAll(io.LimitReader(stream, outputBytes))
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return ""
	}
	printable := func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}
	return strings.TrimSpace(strings.Map(printable, strings.ToValidUTF8(string(text), "")))
}
