package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// kubeconfigOf returns a kubeconfig of a user.
func kubeconfigOf(server string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: kubernetes, cluster: {server: %q}}]
users: [{name: admin, user: {token: secret}}]
contexts: [{name: admin@kubernetes, context: {cluster: kubernetes, user: admin}}]
current-context: admin@kubernetes
`, server)
}

// storedKubeconfig returns a kubeconfig of edge1 as the controller stores it.
func storedKubeconfig(t *testing.T) string {
	t.Helper()
	return certified(t, firstUser, nil, time.Now().Add(time.Hour))
}

func kubeconfigSecret(name, content string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "site-a"},
		Data:       map[string][]byte{"value": []byte(content)},
	}
}

const edge1 = "https://10.60.0.11:6443"

func TestKubeconfigToStdout(t *testing.T) {
	stored := storedKubeconfig(t)
	w := newTerminal(t, provisioning("edge-1"), kubeconfigSecret("edge-1-kubeconfig", stored))
	w.expect(w.run(t.Context(), "kubeconfig", "edge-1"), codeDone)
	if diff := cmp.Diff(stored, w.text()); diff != "" {
		t.Errorf("stdout (-want +got):\n%s", diff)
	}
}

func TestKubeconfigComesFromTheSecretThatStatusNames(t *testing.T) {
	p := provisioning("edge-1")
	p.Status.Kubeconfig = &v1alpha1.KubeconfigStatus{SecretName: "elsewhere"}
	w := newTerminal(t, p, kubeconfigSecret("elsewhere", storedKubeconfig(t)))
	w.expect(w.run(t.Context(), "kubeconfig", "edge-1", "--to", "-"), codeDone, edge1)
}

func TestKubeconfigFileIsPrivateAndReplacedWhole(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "edge-1.kubeconfig")
	if err := os.WriteFile(file, []byte("an old one, open to all"), 0o644); err != nil {
		t.Fatal(err)
	}
	stored := storedKubeconfig(t)
	w := newTerminal(t, provisioning("edge-1"), kubeconfigSecret("edge-1-kubeconfig", stored))
	w.expect(w.run(t.Context(), "kubeconfig", "edge-1", "--to", file), codeDone, "kubectl --kubeconfig "+file)
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, want 0600", info.Mode().Perm())
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stored, string(got)); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
	w.expect(w.run(t.Context(), "kubeconfig", "edge-1", "--to", filepath.Join(dir, "no", "such")), codeFailed, "write kubeconfig")
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("files left behind: %v, %v", left, err)
	}
}

func TestNoKubeconfigYetSaysWhy(t *testing.T) {
	p := provisioning("edge-1")
	p.Status.InitializeConditions()
	p.Status.ObservedGeneration = 1
	p.Status.MarkHostsClaimed(corev1.ConditionFalse, "HostsNotAvailable", "5 hosts: 5 claimed")
	w := newTerminal(t, p)
	w.expect(w.run(t.Context(), "kubeconfig", "edge-1"), codeNotYet,
		"no kubeconfig yet", "Ready is False (HostsNotAvailable): 5 hosts: 5 claimed", "kubectl bpa hosts -n site-a --for edge-1")

	p = provisioning("edge-1")
	hasFailed(p)
	w = newTerminal(t, p)
	w.expect(w.run(t.Context(), "kubeconfig", "edge-1"), codeNotYet, "Ready is False (PlaybookFailed): worker-1: no space left")

	p = provisioning("edge-1")
	isReady(p)
	p.Status.MarkKubeconfigReady(corev1.ConditionFalse, "Expired", "the certificate ended")
	w = newTerminal(t, p)
	w.expect(w.run(t.Context(), "kubeconfig", "edge-1"), codeNotYet, "KubeconfigReady is False (Expired): the certificate ended")

	p = provisioning("edge-1")
	isReady(p)
	w = newTerminal(t, p)
	w.expect(w.run(t.Context(), "kubeconfig", "edge-1"), codeNotYet, "Secret edge-1-kubeconfig) is gone", "try again")

	w = newTerminal(t, provisioning("edge-1"))
	w.expect(w.run(t.Context(), "kubeconfig", "edge-1"), codeNotYet, "has not reported", "kubectl get pods -n bpa-system")
}

func TestDamagedKubeconfigIsNotHandedOut(t *testing.T) {
	for name, content := range map[string]string{"empty": "", "no YAML": "{", "no context": "apiVersion: v1\nkind: Config\n"} {
		t.Run(name, func(t *testing.T) {
			w := newTerminal(t, provisioning("edge-1"), kubeconfigSecret("edge-1-kubeconfig", content))
			w.expect(w.run(t.Context(), "kubeconfig", "edge-1"), codeFailed, "secret edge-1-kubeconfig, key value")
		})
	}
}

func TestMerge(t *testing.T) {
	const other = "https://192.0.2.1:6443"
	contextsOf := func(w *terminal) map[string]string {
		config, err := clientcmd.LoadFromFile(w.own)
		if err != nil {
			t.Fatal(err)
		}
		leads := map[string]string{"": config.CurrentContext}
		for name, c := range config.Contexts {
			user := config.AuthInfos[c.AuthInfo]
			if len(user.ClientCertificateData) > 0 {
				user.Token = "certificate"
			}
			leads[name] = config.Clusters[c.Cluster].Server + " " + user.Token
		}
		return leads
	}
	for _, tt := range []struct {
		name string
		own  string
		args []string
		code int
		want map[string]string
	}{
		{name: "into nothing", want: map[string]string{"": "", "edge-1": edge1 + " certificate"}},
		{name: "in addition to another, which stays current", own: kubeconfigOf(other),
			want: map[string]string{"": "admin@kubernetes", "admin@kubernetes": other + " secret", "edge-1": edge1 + " certificate"}},
		{name: "under another name", args: []string{"--context-name=lab"}, want: map[string]string{"": "", "lab": edge1 + " certificate"}},
		{name: "renewed", own: named("edge-1", edge1, "old"), want: map[string]string{"": "edge-1", "edge-1": edge1 + " certificate"}},
		{name: "not over another cluster", own: named("edge-1", other, "old"), code: codeFailed,
			want: map[string]string{"": "edge-1", "edge-1": other + " old"}},
		{name: "over another cluster with --overwrite", own: named("edge-1", other, "old"), args: []string{"--overwrite"},
			want: map[string]string{"": "edge-1", "edge-1": edge1 + " certificate"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newTerminal(t, provisioning("edge-1"), kubeconfigSecret("edge-1-kubeconfig", storedKubeconfig(t)))
			if tt.own != "" {
				if err := os.WriteFile(w.own, []byte(tt.own), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			w.expect(w.run(t.Context(), append([]string{"kubeconfig", "edge-1", "--merge"}, tt.args...)...), tt.code)
			if diff := cmp.Diff(tt.want, contextsOf(w)); diff != "" {
				t.Errorf("contexts (-want +got):\n%s", diff)
			}
			if info, err := os.Stat(w.own); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("mode of the kubeconfig = %v, %v; want 0600", info.Mode(), err)
			}
		})
	}
}

// named returns a kubeconfig whose entries all have the same name.
func named(name, server, token string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: %[1]s, cluster: {server: %[2]q}}]
users: [{name: %[1]s, user: {token: %[3]s}}]
contexts: [{name: %[1]s, context: {cluster: %[1]s, user: %[1]s}}]
current-context: %[1]s
`, name, server, token)
}

// TestKubeconfigOfAnEditorIsNotUsed: an editor of the namespace may write the Secret. A program in it would run with the
// rights of whoever uses the kubeconfig, such as an administrator who lists the images of all clusters.
func TestKubeconfigOfAnEditorIsNotUsed(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	config, err := clientcmd.Load([]byte(storedKubeconfig(t)))
	if err != nil {
		t.Fatal(err)
	}
	config.AuthInfos[config.Contexts[config.CurrentContext].AuthInfo].Exec = &clientcmdapi.ExecConfig{
		APIVersion: "client.authentication.k8s.io/v1", Command: "/bin/sh", Args: []string{"-c", "touch " + ran}, InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
	}
	evil, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"kubeconfig", "edge-1"}, {"kubeconfig", "edge-1", "--merge"}, {"depot", "images-in-use"}} {
		w := newTerminal(t, provisioning("edge-1"), kubeconfigSecret("edge-1-kubeconfig", string(evil)))
		w.config = &rest.Config{Host: "https://127.0.0.1:9"}
		w.expect(w.run(t.Context(), args...), codeFailed, "the field exec, which BPA does not use")
		if own, err := os.ReadFile(w.own); err == nil && strings.Contains(string(own), "exec") {
			t.Errorf("%q: the program is in the user's kubeconfig: %s", args, own)
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the program ran")
	}
}
