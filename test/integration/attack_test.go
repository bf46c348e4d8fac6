//go:build integration

package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tektoncd/pipeline/pkg/apis/config/resolver"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	clusterresolver "github.com/tektoncd/pipeline/pkg/resolution/resolver/cluster"
	"github.com/tektoncd/pipeline/pkg/resolution/resolver/framework"
	httpresolver "github.com/tektoncd/pipeline/pkg/resolution/resolver/http"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/cli"
)

// attacked is the namespace of the attacks. Its users are eve, with Kubernetes' role edit, ed, with only BPA's
// roles bpa-view and bpa-edit, and vic, with the role view.
const attacked = "attacked"

// attack is an attempt to get what docs/security.md says that somebody cannot get. It acts as that user, over the
// real API. attempt returns what the user sees; the attempt is refused if that contains want.
type attack struct {
	row     string // finding of the review that succeeded before, or the page's words
	attempt func(t *testing.T) string
	want    string
}

// TestAttacks plays the attacks. What is allowed is tried too, so that a refusal means something.
func TestAttacks(t *testing.T) {
	prepareAttacked(t)
	for _, a := range slices.Concat(kubeconfigAttacks(t), podAttacks(), resolverAttacks(t)) {
		t.Run(a.row, func(t *testing.T) {
			if got := a.attempt(t); !strings.Contains(got, a.want) {
				t.Errorf("the answer lacks %q:\n%s", a.want, got)
			}
		})
	}
}

// prepareAttacked creates the namespace and the roles. They are bound one by one, because there is no controller
// manager that would aggregate them into view and edit.
func prepareAttacked(t *testing.T) {
	t.Helper()
	must(t, "", "apply", "--server-side", "-n", "bpa-system", "-f", "../../config/201-people.yaml")
	must(t, "", "create", "namespace", attacked)
	must(t, "", "create", "serviceaccount", "default", "-n", attacked)
	for user, roles := range map[string][]string{
		"eve": {"system:aggregate-to-edit", "system:aggregate-to-view", "bpa-edit", "bpa-view", "bpa-software-edit"},
		"ed":  {"bpa-edit", "bpa-view"},
		"vic": {"system:aggregate-to-view", "bpa-view"},
	} {
		for _, role := range roles {
			must(t, "", "create", "rolebinding", user+"-"+strings.ReplaceAll(role, ":", "-"), "-n", attacked, "--clusterrole="+role, "--user="+user)
		}
	}
	must(t, manifest("edge-1", one), "apply", "-n", attacked, "-f", "-", "--as=ed")
}

// as returns an attempt with kubectl as a user.
func as(user, stdin string, args ...string) func(*testing.T) string {
	return func(t *testing.T) string {
		t.Helper()
		out, err := shared.run(t.Context(), []byte(stdin), append(args, "--as="+user)...)
		return fmt.Sprintf("%s%v", out, err)
	}
}

// kubeconfigAttacks: eve writes a program into the Secret of a kubeconfig. It must not run when the administrator
// uses the commands that read it.
func kubeconfigAttacks(t *testing.T) (all []attack) {
	dir := t.TempDir()
	ran, own := filepath.Join(dir, "ran"), filepath.Join(dir, "config")
	command := func(args ...string) func(*testing.T) string {
		return func(t *testing.T) string {
			must(t, programSecret(t, ran), "apply", "-n", attacked, "-f", "-", "--as=eve")
			text, err := os.ReadFile(shared.kubeconfig)
			if err == nil {
				err = os.WriteFile(own, text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}
			code := cli.Run(t.Context(), append(args, "--kubeconfig", own, "-n", attacked), streams)
			if text, err := os.ReadFile(own); err != nil || strings.Contains(string(text), "exec") {
				t.Errorf("%v: the program is in the administrator's kubeconfig:\n%s", err, text)
			}
			if _, err := os.Stat(ran); err == nil {
				t.Error("the program ran as the administrator")
			}
			return fmt.Sprintf("%sexit code %d", &out, code)
		}
	}
	const want = "the field exec, which BPA does not use"
	list := []string{"depot", "images-in-use"}
	// The Provisionings of other tests have no real cluster, so the command must skip them.
	for _, name := range strings.Fields(must(t, "", "get", "provisionings", "-A", "-o", `jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name} {end}`)) {
		if name != attacked+"/edge-1" {
			list = append(list, "--skip", name)
		}
	}
	return []attack{
		{"S1: a program in a kubeconfig runs when an administrator lists images", command(list...), want},
		{"S1: a program in a kubeconfig is printed", command("kubeconfig", "edge-1"), want},
		{"S1: a program in a kubeconfig is merged", command("kubeconfig", "edge-1", "--merge"), want},
	}
}

// programSecret returns the Secret of a kubeconfig that works, and that runs a program.
func programSecret(t *testing.T, ran string) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(shared.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if err := clientcmdapi.FlattenConfig(config); err != nil {
		t.Fatal(err)
	}
	config.AuthInfos[config.Contexts[config.CurrentContext].AuthInfo].Exec = &clientcmdapi.ExecConfig{
		APIVersion: "client.authentication.k8s.io/v1", Command: "/bin/sh", Args: []string{"-c", "touch " + ran}, InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
	}
	value, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := yaml.Marshal(corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Name: "edge-1-kubeconfig"}, Data: map[string][]byte{"value": value},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(secret)
}

// restrictedPod is what a namespace admits; the %s are further fields of the pod and of the container.
const restrictedPod = `apiVersion: v1
kind: Pod
metadata: {generateName: attack-}
spec:
  %s
  automountServiceAccountToken: false
  containers:
  - name: main
    image: registry.example/main:v1
    securityContext: {runAsNonRoot: true, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}, seccompProfile: {type: RuntimeDefault}%s}
`

// podAttacks: a pod that reaches the machine below it. No namespace here has a label, so the default of the API
// server decides, as on a bootstrap machine.
func podAttacks() (all []attack) {
	const refused = `violates PodSecurity "restricted:latest"`
	for what, pod := range map[string]string{
		"a privileged pod":               strings.Replace(fmt.Sprintf(restrictedPod, "", ""), "allowPrivilegeEscalation: false", "privileged: true", 1),
		"a pod with files of the host":   fmt.Sprintf(restrictedPod, "volumes: [{name: root, hostPath: {path: /}}]", ""),
		"a pod in the host's network":    fmt.Sprintf(restrictedPod, "hostNetwork: true", ""),
		"a pod with the host's programs": fmt.Sprintf(restrictedPod, "hostPID: true", ""),
		"a pod as root":                  fmt.Sprintf(restrictedPod, "", ", runAsUser: 0"),
	} {
		all = append(all, attack{"S2: " + what, as("eve", pod, "create", "-n", attacked, "-f", "-"), refused})
	}
	return append(all,
		attack{"S2: a pod without a security context", as("eve", `{apiVersion: v1, kind: Pod, metadata: {generateName: bare-}, spec: {containers: [{name: main, image: "registry.example/main:v1"}]}}`, "create", "-n", attacked, "-f", "-"), refused},
		attack{"S2: a namespace that admits more", as("eve", "", "label", "namespace", attacked, "pod-security.kubernetes.io/enforce=privileged"), `cannot patch resource "namespaces"`},
		attack{"S2: a namespace of one's own", as("eve", "", "create", "namespace", "baremetal-operator-system"), `cannot create resource "namespaces"`},
		attack{"a restricted pod is admitted", as("eve", fmt.Sprintf(restrictedPod, "", ""), "create", "-n", attacked, "--dry-run=server", "-f", "-"), "created (server dry run)\n<nil>"},
		attack{"the pods of the tasks are admitted", taskPods, "8 of 8 Tasks admitted, <nil>"},
		attack{"the author is warned of a namespace without the label", as("ed", manifest("edge-2", one), "create", "-n", attacked, "--dry-run=server", "-f", "-"),
			"kubectl label namespace " + attacked + " pod-security.kubernetes.io/enforce=restricted"},
		attack{"the author is not warned of a namespace with the label", func(t *testing.T) string {
			out := must(t, manifest("edge-2", one), "create", "-n", namespace, "--dry-run=server", "-f", "-")
			return fmt.Sprintf("warned: %t", strings.Contains(out, "Warning"))
		}, "warned: false"},
	)
}

// taskPods creates, without storing them, the pods of all Tasks as far as the Tasks decide about them: steps and
// volumes. Tekton's own containers are restricted with its flag set-security-context.
func taskPods(t *testing.T) string {
	files, err := filepath.Glob("../../tekton/tasks/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("%v, %v", files, err)
	}
	var pods []string
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var task tekton.Task
		if err := yaml.Unmarshal(raw, &task); err != nil {
			t.Fatal(err)
		}
		pod := corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: task.Name}}
		pod.Spec.Volumes = task.Spec.Volumes
		for _, s := range task.Spec.Steps {
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: s.Name, Image: "registry.example/" + task.Name + ":v1", SecurityContext: s.SecurityContext, VolumeMounts: s.VolumeMounts})
		}
		text, err := yaml.Marshal(pod)
		if err != nil {
			t.Fatal(err)
		}
		pods = append(pods, string(text))
	}
	out, err := kubectl(t, strings.Join(pods, "---\n"), "create", "-n", attacked, "--dry-run=server", "-f", "-")
	return fmt.Sprintf("%s%d of %d Tasks admitted, %v", out, strings.Count(out, "created (server dry run)"), len(files), err)
}

// resolverAttacks: a run names Tasks and Pipelines elsewhere. The resolvers are Tekton's own code, with its
// ConfigMaps after the commands of the README, which set what the bootstrap machine sets.
func resolverAttacks(t *testing.T) []attack {
	t.Helper()
	for _, file := range []string{"100-namespace", "config-feature-flags", "cluster-resolver-config"} {
		must(t, "", "apply", "-n", "tekton-pipelines-resolvers", "-f", filepath.Join(moduleDir(t, "github.com/tektoncd/pipeline"), "config", "resolvers", file+".yaml"))
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile(`(?m)^ +kubectl (patch configmap) (\S+) (-n tekton-pipelines-resolvers) (--type=merge) -p '(.*)'$`).FindAllStringSubmatch(string(readme), -1)
	if len(commands) != 2 {
		t.Fatalf("the README has the commands %q, want two", commands)
	}
	for _, c := range commands {
		must(t, "", "patch", "configmap", c[2], "-n", "tekton-pipelines-resolvers", "--type=merge", "-p", c[5])
	}
	data := func(name string) (m map[string]string) {
		if err := json.Unmarshal([]byte(must(t, "", "get", "configmap", name, "-n", "tekton-pipelines-resolvers", "-o", "jsonpath={.data}")), &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	flags, err := resolver.NewFeatureFlagsFromMap(data("resolvers-feature-flags"))
	if err != nil {
		t.Fatal(err)
	}
	ctx := resolver.ToContext(framework.InjectResolverConfigToContext(t.Context(), data("cluster-resolver-config")), &resolver.Config{FeatureFlags: flags})
	params := func(pairs ...string) (all []tekton.Param) {
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, tekton.Param{Name: pairs[i], Value: *tekton.NewStructuredValues(pairs[i+1])})
		}
		return all
	}
	pipeline := func(namespace string) func(*testing.T) string {
		return func(*testing.T) string {
			return fmt.Sprint((&clusterresolver.Resolver{}).ValidateParams(ctx, params("kind", "pipeline", "name", "bpa-install", "namespace", namespace)))
		}
	}
	page := func(*testing.T) string {
		return fmt.Sprint((&httpresolver.Resolver{}).ValidateParams(ctx, params("url", "https://10.60.0.1:6443/version")))
	}
	return []attack{
		{"S7: a run reads a Pipeline of another namespace", pipeline("other"), "access to specified namespace other is not allowed"},
		{"S7: a run fetches an address inside the site", page, "enable-http-resolver feature flag not true"},
		{"a run finds BPA's Pipelines", pipeline("bpa-system"), "<nil>"},
		{"S7: other resolvers", func(*testing.T) string { return fmt.Sprintf("%+v", *flags) },
			"{EnableGitResolver:false EnableHubResolver:false EnableBundleResolver:false EnableClusterResolver:true EnableHttpResolver:false}"},
	}
}
