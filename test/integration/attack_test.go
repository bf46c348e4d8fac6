//go:build integration

package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tektoncd/pipeline/pkg/apis/config/resolver"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/cli"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/runs"
	"github.com/akraino-icn/bpa/pkg/runs/tekton/convert"
)

// attacked is the namespace of the attacks. Its users are eve, with Kubernetes' role edit, ed, with only BPA's
// role bpa-edit, vic, with the role view, and ada, who may delete Backups.
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
	for _, a := range slices.Concat(kubeconfigAttacks(t), podAttacks(), resolverAttacks(t), backupAttacks(t), depotAttacks(t), runAttacks(t)) {
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
		"ed":  {"bpa-edit"},
		"vic": {"system:aggregate-to-view", "bpa-view"},
		"ada": {"bpa-view", "bpa-backup-delete"},
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
		attack{"the pods of the tasks are admitted", taskPods, "9 of 9 Tasks admitted, <nil>"},
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

// resolverAttacks: a run names Tasks and Pipelines elsewhere. These are the settings that Tekton's resolvers read, after
// the commands of docs/install.md, which set what the bootstrap machine sets. The resolvers themselves do not run here.
func resolverAttacks(t *testing.T) []attack {
	t.Helper()
	for _, file := range []string{"100-namespace", "config-feature-flags", "cluster-resolver-config"} {
		must(t, "", "apply", "-n", "tekton-pipelines-resolvers", "-f", filepath.Join(moduleDir(t, "github.com/tektoncd/pipeline"), "config", "resolvers", file+".yaml"))
	}
	page, err := os.ReadFile("../../docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile(`(?m)^kubectl (patch configmap) (\S+) (-n tekton-pipelines-resolvers) (--type=merge) -p '(.*)'$`).FindAllStringSubmatch(string(page), -1)
	if len(commands) != 2 {
		t.Fatalf("the page has the commands %q, want two", commands)
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
	return []attack{
		{"S7: a run reads Pipelines and Tasks of other namespaces", func(t *testing.T) string { return fmt.Sprint(data("cluster-resolver-config")) }, "allowed-namespaces:bpa-system"},
		{"S7: a run fetches an address inside the site", func(*testing.T) string { return fmt.Sprintf("%+v", *flags) },
			"{EnableGitResolver:false EnableHubResolver:false EnableBundleResolver:false EnableClusterResolver:true EnableHttpResolver:false}"},
	}
}

// backupAttacks: those who can destroy a cluster, or their stolen credentials, also delete its Backups.
func backupAttacks(t *testing.T) []attack {
	t.Helper()
	must(t, "{apiVersion: bpa.akraino.org/v1alpha1, kind: Backup, metadata: {name: kept}, spec: {provisioning: edge-1}}", "create", "-n", attacked, "-f", "-", "--as=ed")
	key := fmt.Sprintf("{apiVersion: v1, kind: Secret, metadata: {name: %s, labels: {app.kubernetes.io/managed-by: bpa-controller}}, stringData: {identity: i}}", contract.BackupKeyName("edge-1"))
	must(t, key, "create", "-n", attacked, "-f", "-")
	const refused, kept = `cannot delete resource "backups"`, "only users with the right to delete Backups in namespace attacked"
	secret := "secret/" + contract.BackupKeyName("edge-1")
	return []attack{
		{"S10: an author of Provisionings deletes all Backups", as("ed", "", "delete", "backups", "--all", "-n", attacked), refused},
		{"S10: an editor deletes a Backup", as("eve", "", "delete", "backup", "kept", "-n", attacked), refused},
		{"S10: a viewer deletes a Backup", as("vic", "", "delete", "backup", "kept", "-n", attacked), refused},
		{"S10: an author deletes Backups by one request", as("ed", "", "delete", "--raw", "/apis/bpa.akraino.org/v1alpha1/namespaces/"+attacked+"/backups"), `cannot deletecollection resource "backups"`},
		{"S10: an editor deletes the key of the Backups", as("eve", "", "delete", "-n", attacked, secret), kept},
		{"S10: an editor deletes all Secrets by one request", as("eve", "", "delete", "--raw", "/api/v1/namespaces/"+attacked+"/secrets?dryRun=All"), kept},
		{"S10: an editor changes the key of the Backups", as("eve", "", "patch", "-n", attacked, secret, "-p", `{"data":{"identity":null}}`), kept},
		{"S10: an editor takes the label from the key", as("eve", "", "label", "-n", attacked, secret, "app.kubernetes.io/managed-by-"), kept},
		{"an editor annotates the key of the Backups", as("eve", "", "annotate", "-n", attacked, secret, "seen=today"), "annotated"},
		{"an administrator deletes the key of the Backups", as("", "", "delete", "-n", attacked, secret, "--dry-run=server"), "(server dry run)"},
		{"the role bpa-backup-delete deletes a Backup", as("ada", "", "delete", "backup", "kept", "-n", attacked, "--dry-run=server"), "deleted from attacked namespace (server dry run)"},
	}
}

// depotAttacks: accounts of the namespace at a real depot.
func depotAttacks(t *testing.T) []attack {
	t.Helper()
	must(t, "", "apply", "--server-side", "-n", "bpa-system", "-f", "../../config/200-depot.yaml")
	tokens := map[string]string{} // an editor acts as the accounts of the namespace
	for account, role := range map[string]string{"edge-1-seed-registry": "bpa-depot-seeder", "filler": "bpa-depot-writer"} {
		must(t, "", "create", "serviceaccount", account, "-n", attacked)
		must(t, "", "create", "clusterrolebinding", attacked+"-"+account, "--clusterrole="+role, "--serviceaccount="+attacked+":"+account)
		tokens[account] = strings.TrimSpace(must(t, "", "create", "token", account, "-n", attacked, "--audience="+audience, "--as=eve"))
	}
	d := startDepot(t)
	root := filepath.Dir(filepath.Dir(d.ca))
	if err := errors.Join(os.MkdirAll(filepath.Join(root, "files"), 0o755), os.Symlink("../registry", filepath.Join(root, "files", "link"))); err != nil {
		t.Fatal(err)
	}
	ask := func(account, method, address, path string, header ...string) func(*testing.T) string {
		return func(t *testing.T) string {
			args := []string{"--silent", "--show-error", "--cacert", d.ca, "--request", method, "--write-out", "\n%{http_code}", address + path}
			if method == "PUT" {
				args = append(args, "--data-binary", "content", "--header", "Content-Type: application/octet-stream")
			}
			for _, h := range append(header, "Authorization: Bearer "+tokens[account]) {
				args = append(args, "--header", h)
			}
			out, err := exec.CommandContext(t.Context(), "curl", args...).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			return string(out)
		}
	}
	tls, plain := "https://"+d.tls, "http://"+d.plain
	const status = "/v1/baremetalcluster/" + attacked + "/edge-1/status/"
	return []attack{
		{"S5: a seeder adds a package that all nodes install", ask("edge-1-seed-registry", "PUT", tls, "/files/apt/debian-12/pool/openssl_99.deb"), "--clusterrole=bpa-depot-writer"},
		{"S5: a seeder replaces the index of the packages", ask("edge-1-seed-registry", "PUT", tls, "/files/apt/debian-12/InRelease"), "may not update files"},
		{"S5: a writer replaces the index of the packages", ask("filler", "PUT", tls, "/files/apt/debian-12/InRelease"), "the depot makes the index"},
		{"S5: a writer replaces the key that signs the index", ask("filler", "PUT", tls, "/apt-key.asc"), "does not support this method"},
		{"S5: everybody reads the key that signs the index", ask("", "GET", plain, "/files/..%2fapt-key.asc"), "\n404"},
		{"everybody reads its public part", ask("", "GET", plain, "/apt-key.asc"), "BEGIN PGP PUBLIC KEY BLOCK"},
		{"S5: a seeder adds the index of a mirror", ask("edge-1-seed-registry", "PUT", tls, "/files/apt/debian-13/dists/trixie/InRelease"), "may not update files"},
		{"a seeder adds a file", ask("edge-1-seed-registry", "PUT", tls, "/files/dl.k8s.io/kubelet"), "\n201"},
		{"a seeder replaces a file", ask("edge-1-seed-registry", "PUT", tls, "/files/dl.k8s.io/kubelet"), "may not update files"},
		{"a writer adds the index of a mirror", ask("filler", "PUT", tls, "/files/apt/debian-13/dists/trixie/InRelease"), "\n201"},
		{"S22: the installation status without a token", ask("", "GET", plain, status+"a%2Fb"), "\n400"},
		{"the installation status without a token, by its own path", ask("", "GET", plain, status+"node-1"), "\n403"},
		{"S23: a writer of files writes into the registry by an administrator's link", ask("filler", "PUT", tls, "/files/link/docker/x"), `"link" is a link`},
		{"S24: another page writes with a browser's token", ask("filler", "PUT", tls, "/files/a", "Sec-Fetch-Site: cross-site"), "for another page"},
	}
}

// runAttacks: somebody with the token of the controller starts runs.
func runAttacks(t *testing.T) []attack {
	t.Helper()
	must(t, "", "apply", "--server-side", "-n", "bpa-system", "-f", "../../config/200-controller.yaml")
	must(t, "", "apply", "--server-side", "-f", filepath.Join(moduleDir(t, "github.com/tektoncd/pipeline"), "config", "300-crds"))
	must(t, "", "wait", "--for=condition=Established", "--timeout=30s", "crd/pipelineruns.tekton.dev")
	text := func(name, namespace string, spec tekton.PipelineRunSpec) string {
		raw, err := yaml.Marshal(tekton.PipelineRun{
			TypeMeta: metav1.TypeMeta{APIVersion: "tekton.dev/v1", Kind: "PipelineRun"}, ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, Spec: spec,
		})
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	create := func(text string) func(*testing.T) string {
		return as("system:serviceaccount:bpa-system:bpa-controller", text, "create", "--dry-run=server", "-f", "-")
	}
	changed := func(namespace string, change func(*tekton.PipelineRunSpec)) func(*testing.T) string {
		spec := convert.Make(metav1.ObjectMeta{}, runs.Run{Name: "edge-1", Operation: contract.OperationOf(contract.OperationInstall), SSHSecret: "ssh-key", Timeout: time.Hour}.Spec()).Spec
		change(&spec)
		return create(text("attack", namespace, spec))
	}
	var own []string
	operations := append(slices.Clone(contract.Operations), contract.BackupOperation)
	for _, o := range operations {
		spec := convert.Make(metav1.ObjectMeta{}, runs.Run{Name: "edge-1", Operation: o, Release: "v2.31.0", SSHSecret: "ssh-key", Timeout: time.Hour, Plugins: true}.Spec(runs.Param(contract.ParamPlayed, "none"))).Spec
		spec.TaskRunTemplate.ServiceAccountName = "default" // Tekton's webhook, which does not run here, writes it
		own = append(own, text(o.Name, attacked, spec))
	}
	const pipelines, accounts = "the controller may only start the Pipelines bpa-*", "the controller may only start tasks as their own accounts"
	return []attack{
		{"S6: a run with a pod of its own", changed(attacked, func(s *tekton.PipelineRunSpec) {
			s.PipelineRef, s.PipelineSpec = nil, &tekton.PipelineSpec{Tasks: []tekton.PipelineTask{{Name: "evil", TaskSpec: &tekton.EmbeddedTask{TaskSpec: tekton.TaskSpec{
				Steps: []tekton.Step{{Name: "evil", Image: "registry.example/evil:v1"}},
			}}}}}
		}), pipelines},
		{"S6: a Pipeline of another namespace", changed(attacked, func(s *tekton.PipelineRunSpec) { s.PipelineRef.Params[2].Value = *tekton.NewStructuredValues(attacked) }), pipelines},
		{"S6: another Pipeline", changed(attacked, func(s *tekton.PipelineRunSpec) { s.PipelineRef.Params[1].Value = *tekton.NewStructuredValues("evil") }), pipelines},
		{"S6: two names of a Pipeline", changed(attacked, func(s *tekton.PipelineRunSpec) {
			s.PipelineRef.Params = append(s.PipelineRef.Params, tekton.Param{Name: "name", Value: *tekton.NewStructuredValues("bpa-reset")})
		}), pipelines},
		{"S6: a Pipeline from elsewhere", changed(attacked, func(s *tekton.PipelineRunSpec) { s.PipelineRef.Resolver = "git" }), pipelines},
		{"S6: a Pipeline of the namespace", changed(attacked, func(s *tekton.PipelineRunSpec) { s.PipelineRef = &tekton.PipelineRef{Name: "bpa-install"} }), pipelines},
		{"S6: a task as an account of Kubernetes", changed("kube-system", func(s *tekton.PipelineRunSpec) { s.TaskRunSpecs[0].ServiceAccountName = "namespace-controller" }), accounts},
		{"S6: all tasks as an account of Kubernetes", changed("kube-system", func(s *tekton.PipelineRunSpec) {
			s.TaskRunSpecs, s.TaskRunTemplate.ServiceAccountName = nil, "namespace-controller"
		}), accounts},
		{"S6: no Provisioning", changed(attacked, func(s *tekton.PipelineRunSpec) { s.Params = nil }), accounts},
		{"S6: pods in the host's network", changed(attacked, func(s *tekton.PipelineRunSpec) { s.TaskRunTemplate.PodTemplate.HostNetwork = true }), "in the network of the host"},
		{"S6: a task's pod with files of the host", changed(attacked, func(s *tekton.PipelineRunSpec) {
			s.TaskRunSpecs[0].PodTemplate.Volumes = []corev1.Volume{{Name: "root", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}}
		}), "with further volumes"},
		{"the controller's own runs are admitted", func(t *testing.T) string {
			out := create(strings.Join(own, "---\n"))(t)
			return fmt.Sprintf("%s\n%d of %d admitted", out, strings.Count(out, "created (server dry run)"), len(operations))
		}, fmt.Sprintf("%[1]d of %[1]d admitted", len(operations))},
	}
}
