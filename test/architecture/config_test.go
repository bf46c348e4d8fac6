package architecture

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/akraino-icn/bpa/pkg/settings"
)

// manifests returns all objects in config/ by file.
func manifests(t *testing.T) map[string][]unstructured.Unstructured {
	t.Helper()
	files, err := filepath.Glob("../../config/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("config/: %v, %v", files, err)
	}
	all := map[string][]unstructured.Unstructured{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), 4096)
		for {
			var object unstructured.Unstructured
			if err := documents.Decode(&object.Object); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if len(object.Object) > 0 {
				all[file] = append(all[file], object)
			}
		}
	}
	return all
}

// TestDeploymentsAreRestricted checks that the function unrestricted finds nothing in the pods of
// all Deployments. The namespace admits only restricted pods. The function also checks that the
// program of each image exists, because ko cannot build the image otherwise.
func TestDeploymentsAreRestricted(t *testing.T) {
	found := 0
	for file, objects := range manifests(t) {
		for _, object := range objects {
			if object.GetKind() != "Deployment" {
				continue
			}
			found++
			var d appsv1.Deployment
			if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &d, true); err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			for _, wrong := range unrestricted(d.Spec.Template.Spec) {
				t.Errorf("%s: Deployment %s: %s", file, d.Name, wrong)
			}
		}
	}
	if found < 2 {
		t.Errorf("config/ has %d Deployments, want controller and webhook", found)
	}
}

// unrestricted returns the settings of a pod that are forbidden by the level "restricted" of Pod
// Security, or by additional rules of this project.
func unrestricted(pod corev1.PodSpec) (wrong []string) {
	complain := func(ok bool, what string) {
		if !ok {
			wrong = append(wrong, what)
		}
	}
	ps := pod.SecurityContext
	if ps == nil {
		ps = &corev1.PodSecurityContext{}
	}
	for _, c := range pod.Containers {
		cs := c.SecurityContext
		if cs == nil {
			return append(wrong, c.Name+" has no securityContext")
		}
		seccomp := cs.SeccompProfile
		if seccomp == nil {
			seccomp = ps.SeccompProfile
		}
		complain(isTrue(cs.RunAsNonRoot) || isTrue(ps.RunAsNonRoot), c.Name+" may run as root")
		complain(cs.AllowPrivilegeEscalation != nil && !*cs.AllowPrivilegeEscalation, c.Name+" may escalate privileges")
		complain(isTrue(cs.ReadOnlyRootFilesystem), c.Name+" may write its root file system")
		complain(seccomp != nil && seccomp.Type == corev1.SeccompProfileTypeRuntimeDefault, c.Name+" has no seccomp profile")
		complain(cs.Capabilities != nil && len(cs.Capabilities.Drop) == 1 && cs.Capabilities.Drop[0] == "ALL", c.Name+" keeps capabilities")
		complain(!c.Resources.Limits.Memory().IsZero() && !c.Resources.Requests.Memory().IsZero(), c.Name+" has no bounds for memory")
		complain(c.ReadinessProbe != nil && c.LivenessProbe != nil, c.Name+" has no probes")
		program, ok := strings.CutPrefix(c.Image, "ko://"+module)
		_, err := os.Stat("../../" + program)
		complain(ok && err == nil, c.Name+": no program for image "+c.Image)
	}
	return wrong
}

func isTrue(b *bool) bool { return b != nil && *b }

// TestManifestsStayAtHome checks that config/ has no Secret with content and no object in a
// namespace other than bpa-system, and that every object has the label of this project.
func TestManifestsStayAtHome(t *testing.T) {
	for file, objects := range manifests(t) {
		for _, object := range objects {
			if ns := object.GetNamespace(); ns != "" && ns != "bpa-system" {
				t.Errorf("%s: %s %s is in namespace %s", file, object.GetKind(), object.GetName(), ns)
			}
			if object.GetKind() == "Secret" && (object.Object["data"] != nil || object.Object["stringData"] != nil) {
				t.Errorf("%s: Secret %s has a content", file, object.GetName())
			}
			if object.GetLabels()["app.kubernetes.io/part-of"] != "bpa" && object.GetKind() != "CustomResourceDefinition" {
				t.Errorf("%s: %s %s lacks the label app.kubernetes.io/part-of: bpa", file, object.GetKind(), object.GetName())
			}
		}
	}
}

// TestConfigHasNoSettings checks that `ko apply -f config/`, also after an edit of the settings or over
// an earlier release, does not write the ConfigMap with the site's settings. A ConfigMap without data
// would also be wrong: kubectl deletes the keys that an earlier release has applied and that are not
// in the file any more.
func TestConfigHasNoSettings(t *testing.T) {
	for file, objects := range manifests(t) {
		for _, object := range objects {
			if object.GetKind() == "ConfigMap" && object.GetName() == settings.Name {
				t.Errorf("%s has ConfigMap %s, which belongs to the site: the controller creates it", file, settings.Name)
			}
		}
	}
}
