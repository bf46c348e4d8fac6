//go:build integration

package integration

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	certificates "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/access"
	accesscluster "github.com/akraino-icn/bpa/pkg/access/cluster"
	"github.com/akraino-icn/bpa/pkg/appcluster"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/plugin"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/ssh/sshtest"
	"github.com/akraino-icn/bpa/pkg/tasks/installplugins"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// keys is a ConfigMap of the bootstrap machine.
type keys struct {
	mu   sync.Mutex
	data map[string]string
}

func (k *keys) Get(_ context.Context, key string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.data[key], nil
}

func (k *keys) Set(_ context.Context, key, value string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.data[key] = value
	return nil
}

// pluginTask is the task install-plugins with a control plane, whose admin.conf is that of the real API
// server.
type pluginTask struct {
	*application
	in      installplugins.Input
	ports   installplugins.Ports
	record  *keys
	taskLog bytes.Buffer
}

func newPluginTask(t *testing.T) *pluginTask {
	w := &pluginTask{application: newApplication(t), record: &keys{data: map[string]string{}}}
	admin, err := os.ReadFile(shared.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	user, file := sshtest.NewKey(t)
	host, _ := sshtest.NewKey(t)
	request := contract.Request{Spec: contract.Spec{Provisioning: "edge", Namespace: "site", UID: "uid-of-edge", Cluster: "edge", SSHUser: "root", KubernetesVersion: "1.35.4"}}
	server := sshtest.Start(t, user.PublicKey(), func(command string, stdout, _ io.Writer) int {
		if strings.Contains(command, "/etc/bpa/used-by") { // the mark of the machine
			fmt.Fprintf(stdout, "user %s\nend\n", base64.StdEncoding.EncodeToString([]byte(request.User().String())))
			return 0
		}
		_, _ = stdout.Write(admin)
		return 0
	}, host)
	request.SSHPort = server.Port
	known := &keys{data: map[string]string{contract.KeyKnownHosts: ssh.Pins{{UID: "u1", Host: "host-1", At: "10.0.0.1:22", Key: host.PublicKey()}}.String()}}
	w.in = installplugins.Input{
		Run: "edge-plugins-1", ScratchDir: t.TempDir(),
		Cluster: node.Cluster{
			Request: request, PrivateKey: file,
			Nodes: []contract.Node{{Name: "master-1", Host: "host-1", HostUID: "u1", Address: server.Address, Roles: []string{contract.RoleControlPlane}}},
		},
		ConnectLimit: 10 * time.Second, SignLimit: 30 * time.Second, ReadyLimit: 20 * time.Second, TestLimit: 30 * time.Second, GoneLimit: 30 * time.Second,
	}
	w.ports = installplugins.Ports{
		Enter: func(ctx context.Context, in installplugins.Input, log io.Writer) (installplugins.Cluster, func(), error) {
			return installplugins.Enter(ctx, in, appcluster.Ports{Dial: node.DialSSH, KnownHosts: known, Log: log})
		},
		Depot:      func(context.Context) (*client.Depot, error) { return nil, errors.New("there is no depot") },
		KnownHosts: known, Progress: &keys{data: map[string]string{}}, Record: w.record, Log: &w.taskLog, Now: time.Now,
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of the task:\n%s", w.taskLog.String())
		}
	})
	return w
}

// ships gives the task plugins: name, objects and test of each.
func (w *pluginTask) ships(plugins ...[3]string) {
	w.t.Helper()
	dir := fstest.MapFS{}
	w.in.Request.Plugins = nil
	for _, p := range plugins {
		dir[p[0]+"/plugin.yaml"] = &fstest.MapFile{Data: []byte("name: " + p[0] + "\nversion: v1\ndescription: for a test\nimages: ['registry.example/check:v1', 'registry.example/agent:v1']\n")}
		dir[p[0]+"/manifests/all.yaml"] = &fstest.MapFile{Data: []byte(p[1])}
		if p[2] != "" {
			dir[p[0]+"/test.yaml"] = &fstest.MapFile{Data: []byte(p[2])}
		}
		w.in.Request.Plugins = append(w.in.Request.Plugins, contract.Plugin{Name: p[0], Version: "v1"})
	}
	catalog, err := plugin.LoadAll(dir)
	if err != nil {
		w.t.Fatal(err)
	}
	w.ports.Catalog = catalog
}

func (w *pluginTask) states() string {
	var rows []contract.PluginStatus
	if err := json.Unmarshal([]byte(w.record.data[contract.KeyPlugins]), &rows); err != nil {
		w.t.Fatal(err)
	}
	var texts []string
	for _, r := range rows {
		texts = append(texts, r.Name+" "+string(r.State)+" "+string(r.Test.State))
	}
	return strings.Join(texts, ", ")
}

// hasNoUsers checks that the task has left neither rights nor certificate requests.
func (w *pluginTask) hasNoUsers(when string) {
	w.t.Helper()
	bindings, err := w.kube.RbacV1().ClusterRoleBindings().List(w.ctx, metav1.ListOptions{LabelSelector: contract.LabelCluster + "=edge"})
	if err != nil || len(bindings.Items) > 0 {
		w.t.Errorf("%s: %d bindings are left, %v", when, len(bindings.Items), err)
	}
	requests, err := w.kube.CertificatesV1().CertificateSigningRequests().List(w.ctx, metav1.ListOptions{LabelSelector: contract.LabelCluster + "=edge"})
	if err != nil || len(requests.Items) > 0 {
		w.t.Errorf("%s: %d certificate requests are left, %v", when, len(requests.Items), err)
	}
}

const notes = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: notes, namespace: default}\n"

// TestInstallPluginsTask: the task installs, tests and removes plugins of a real cluster as a user of its own,
// which has no rights before and after a run, whether the run succeeds, fails or is cancelled.
func TestInstallPluginsTask(t *testing.T) {
	w := newPluginTask(t)
	w.leftover()
	w.kubelet(plugin.TestNamespace("good"), corev1.PodSucceeded)
	w.ships([3]string{"good", notes, pluginTest}, [3]string{"bad", agents, ""}, [3]string{"twin", notes, ""})
	w.in.ReadyLimit = time.Second
	_, err := installplugins.Run(w.ctx, w.in, w.ports)
	if err == nil || !strings.Contains(err.Error(), "DaemonSet default/agent") || !strings.Contains(err.Error(), "belongs to plugin good") {
		t.Errorf("error %v", err)
	}
	if want := "good Installed passed, bad Failed none, twin Failed none"; w.states() != want {
		t.Errorf("states %s, want %s", w.states(), want)
	}
	w.hasNoUsers("after a failure")
	if manager := must(t, "", "get", "configmap", "notes", "-n", "default", "--show-managed-fields", "-o", "jsonpath={.metadata.managedFields[*].manager}"); manager != contract.FieldManagerPlugins {
		t.Errorf("the object is managed by %q", manager)
	}
	if text := w.taskLog.String(); !strings.Contains(text, "An earlier run has left the rights of user bpa:edge:plugins:0badcafe") || strings.Contains(text, "PRIVATE") {
		t.Errorf("the log:\n%s", text)
	}

	ctx, cancel := context.WithCancel(w.ctx)
	w.in.ReadyLimit = time.Minute
	w.ships([3]string{"bad", agents, ""})
	w.ports.Log = writerFunc(func(text string) {
		if strings.Contains(text, "applying") {
			cancel()
		}
	})
	if _, err := installplugins.Run(ctx, w.in, w.ports); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled run: %v", err)
	}
	w.hasNoUsers("after a cancellation")

	w.ports.Log = &w.taskLog
	w.ships()
	out, err := installplugins.Run(w.ctx, w.in, w.ports)
	if err != nil || out.Summary != "1 removed" || w.states() != "" {
		t.Errorf("%+v, %v, %s", out, err, w.states())
	}
	if w.exists("daemonset/agent", "-n", "default") || w.exists("configmap/notes", "-n", "default") || w.exists("configmap", "-n", contract.NamespacePlugins, "-l", contract.LabelPlugin) {
		t.Error("something of the plugins is left")
	}
	w.hasNoUsers("at the end")
}

// leftover gives a user of a task that was killed its rights.
func (w *pluginTask) leftover() {
	w.t.Helper()
	user := access.User{Cluster: "edge", Kind: access.Plugins, ID: "0badcafe"}
	if err := accesscluster.New(w.kube, "edge").Bind(w.ctx, user); err != nil {
		w.t.Fatal(err)
	}
	key, err := access.NewKey(user.String(), rand.Reader)
	if err != nil {
		w.t.Fatal(err)
	}
	request := &certificates.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "bpa-edge-left", Labels: map[string]string{contract.LabelCluster: "edge"}},
		Spec: certificates.CertificateSigningRequestSpec{
			Request: key.Request, SignerName: certificates.KubeAPIServerClientSignerName,
			Usages: []certificates.KeyUsage{certificates.UsageDigitalSignature, certificates.UsageClientAuth},
		},
	}
	if _, err := w.kube.CertificatesV1().CertificateSigningRequests().Create(w.ctx, request, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

type writerFunc func(string)

func (f writerFunc) Write(p []byte) (int, error) { f(string(p)); return len(p), nil }
