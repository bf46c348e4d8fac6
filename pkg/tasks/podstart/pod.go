package podstart

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

const (
	// namespace exists in every cluster and has an account from the beginning. No policy of pod security
	// applies there by default, but the pods would fulfil the strictest one.
	namespace = "kube-system"
	// label is on every pod of this package. Its value is that of one check.
	label = "bpa.akraino.org/pod-start"
)

// pod returns the pod for a node. The scheduler takes no part, so no taint and no cordon keeps it away.
func pod(node, image, check string) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "bpa-pod-start-", Namespace: namespace, Labels: map[string]string{label: check}},
		Spec: corev1.PodSpec{
			NodeName: node, RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: ptr.To[int64](0),
			Tolerations:                  []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			AutomountServiceAccountToken: ptr.To(false), EnableServiceLinks: ptr.To(false),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](65535), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "pause", Image: image, ImagePullPolicy: corev1.PullIfNotPresent,
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
}

// pauseImages returns the image of sandboxes on each of the nodes. A node that does not report one gets that of
// another node: they have the same playbook. nil: no node reports one. A node reports at most 50 images, and
// leaves out the smallest ones.
func pauseImages(all []corev1.Node, nodes []string) map[string]string {
	images, other := map[string]string{}, ""
	for _, n := range all {
		for _, image := range n.Status.Images {
			if ref := pauseOf(image.Names); ref != "" {
				images[n.Name], other = ref, max(other, ref)
			}
		}
	}
	if other == "" {
		return nil
	}
	for _, name := range nodes {
		if images[name] == "" {
			images[name] = other
		}
	}
	return images
}

// pauseOf returns the name with a tag of an image of sandboxes, such as registry.k8s.io/pause:3.10; empty: it is
// another image.
func pauseOf(names []string) string {
	i := slices.IndexFunc(names, func(ref string) bool {
		name, _, tagged := strings.Cut(path.Base(ref), ":")
		return tagged && !strings.Contains(ref, "@") && (name == "pause" || strings.HasPrefix(name, "pause-"))
	})
	if i < 0 {
		return ""
	}
	return names[i]
}

// judge reports whether a pod is Ready. If not, it also returns why, and whether it will not become Ready any
// more. A kubelet that has no room rejects the pod; the pods that take the room run there.
func judge(p corev1.Pod) (ready bool, why string, failed bool) {
	if strings.HasPrefix(p.Status.Reason, "OutOf") {
		return true, "", false
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return true, "", false
		}
	}
	why = words(p.Status.Reason, p.Status.Message)
	for _, c := range p.Status.ContainerStatuses {
		switch {
		case c.State.Waiting != nil:
			why = words(c.State.Waiting.Reason, c.State.Waiting.Message)
		case c.State.Terminated != nil:
			why = words(c.State.Terminated.Reason, c.State.Terminated.Message)
		}
	}
	if why == "" {
		why = "its kubelet does not start it"
	}
	return false, why, p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
}

// words joins a reason and a message of the cluster for a message to the user.
func words(reason, message string) string {
	return task.Printable(strings.Trim(reason+": "+message, ": "), 400)
}
