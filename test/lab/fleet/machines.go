package fleet

import (
	"context"
	"fmt"
	"slices"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Names lists the machines of this namespace, sorted.
func (f *Fleet) Names(ctx context.Context) ([]string, error) {
	var pods corev1.PodList
	if err := f.Client.List(ctx, &pods, client.InNamespace(PodNamespace), client.MatchingLabels{labelNamespace: f.Namespace}); err != nil {
		return nil, fmt.Errorf("list machines: %w", err)
	}
	var names []string
	for _, p := range pods.Items {
		names = append(names, p.Labels[labelHost])
	}
	slices.Sort(names)
	return names, nil
}

// Address returns the IP address of the machine.
func (f *Fleet) Address(ctx context.Context, name string) (string, error) {
	var pod corev1.Pod
	if err := f.Client.Get(ctx, client.ObjectKey{Namespace: PodNamespace, Name: podName(f.Namespace, name)}, &pod); err != nil {
		return "", fmt.Errorf("machine %s: %w", name, err)
	}
	if pod.Status.PodIP == "" {
		return "", fmt.Errorf("machine %s has no address yet: its pod is %s", name, pod.Status.Phase)
	}
	return pod.Status.PodIP, nil
}

// shapes reads the shapes of the machines with these names, or of all machines, from their
// BareMetalHosts.
func (f *Fleet) shapes(ctx context.Context, names []string) ([]Shape, error) {
	if len(names) == 0 {
		var err error
		if names, err = f.Names(ctx); err != nil {
			return nil, err
		}
	}
	out := shapesByName(names)
	for i := range out {
		var host metal3.BareMetalHost
		err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.Namespace, Name: out[i].Name}, &host)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("read host %s: %w", out[i].Name, err)
		}
		if hw := host.Status.HardwareDetails; err == nil && hw != nil {
			out[i].CPU, out[i].RAMGiB = hw.CPU.Count, hw.RAMMebibytes/1024
			out[i].Broken = host.Status.OperationalStatus == metal3.OperationalStatusError
		}
	}
	return out, nil
}

// shapesByName returns the default shape for each name.
func shapesByName(names []string) []Shape {
	var out []Shape
	for _, n := range names {
		out = append(out, shapeOf(n))
	}
	return out
}

// removeMachine deletes the machine, its BareMetalHost and its HardwareData, and waits until the
// pod is gone.
func (f *Fleet) removeMachine(ctx context.Context, name string) error {
	meta := metav1.ObjectMeta{Namespace: f.Namespace, Name: name}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: PodNamespace, Name: podName(f.Namespace, name)}}
	for _, o := range []client.Object{&metal3.BareMetalHost{ObjectMeta: meta}, &metal3.HardwareData{ObjectMeta: meta}, pod} {
		if err := client.IgnoreNotFound(f.Client.Delete(ctx, o, client.GracePeriodSeconds(1))); err != nil {
			return fmt.Errorf("remove %T %s: %w", o, name, err)
		}
	}
	return f.waitGone(ctx, pod.Name)
}

func (f *Fleet) removeKey(ctx context.Context) error {
	for _, o := range []client.Object{
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: SSHSecret}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: PodNamespace, Name: keyConfigName(f.Namespace)}},
	} {
		if err := client.IgnoreNotFound(f.Client.Delete(ctx, o)); err != nil {
			return fmt.Errorf("remove %T: %w", o, err)
		}
	}
	return nil
}
