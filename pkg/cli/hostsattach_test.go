package cli

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/ssh/sshtest"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// onLoopback connects to 127.0.0.N in place of 10.0.0.N: a host cannot have a loopback address.
func onLoopback(ctx context.Context, to ssh.Target, key ssh.Key, pinned ssh.HostKey) (node.Connection, error) {
	to.Address = strings.Replace(to.Address, "10.0.0.", "127.0.0.", 1)
	return node.DialSSH(ctx, to, key, pinned)
}

// restoredSite is a site after `machine restore` with an old backup. Cluster edge-1 has host-1, host-2 is free, host-3 is
// free in the backup and has got the cluster edge-2 since, and host-4 is off.
func restoredSite(t *testing.T) (w *terminal, servers []*sshtest.Server, port string) {
	t.Helper()
	signer, key := sshtest.NewKey(t)
	hostKey, _ := sshtest.NewKey(t)
	p := provisioning("edge-1")
	p.UID = "now"
	p.Status.ClusterUID = "first" // an earlier Provisioning has installed the cluster
	marks := []contract.User{{Namespace: "site-a", Name: "edge-1", UID: "first"}, {}, {Namespace: "site-a", Name: "edge-2", UID: "later"}}
	listeners := sshtest.Listen(t, "127.0.0.1", "127.0.0.2", "127.0.0.3")
	objects := []client.Object{p, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "site-a", Name: "ssh-key"}, Data: map[string][]byte{"ssh-privatekey": key}}}
	for i := range listeners {
		servers = append(servers, sshtest.StartOn(t, listeners[i], signer.PublicKey(), func(command string, stdout, _ io.Writer) int {
			if strings.Contains(command, "perm_hwaddr") {
				fmt.Fprintf(stdout, "name node-%d\ncard eth0 02:00:00:00:00:%02x\n", i+1, i+1)
				return 0
			}
			if marks[i] != (contract.User{}) {
				fmt.Fprintf(stdout, "user %s\nkubernetes process kubelet (7)\n", base64.StdEncoding.EncodeToString([]byte(marks[i].String())))
			}
			fmt.Fprintln(stdout, "end")
			return 0
		}, hostKey))
	}
	for n := 1; n <= 4; n++ {
		h := bareMetal(n, 8, func(h *metal3.BareMetalHost) {
			h.UID = types.UID(fmt.Sprintf("uid-%d", n))
			h.Annotations = map[string]string{contract.AnnotationDetachedByRestore: "2026-11-28T03:00:00Z",
				metal3.PausedAnnotation: contract.RestoredPaused, metal3.DetachedAnnotation: contract.RestoredDetached}
		})
		if n == 1 {
			heldBy("edge-1", "master-1")(h)
		}
		objects = append(objects, h)
	}
	host1 := string(objects[2].GetUID())
	p.Spec.SSH = v1alpha1.SSHSpec{User: "root", Port: int32(servers[0].Port), SecretName: "ssh-key"}
	pins := ssh.Pins{{UID: host1, Host: "host-1", At: "127.0.0.1:22", Key: hostKey.PublicKey()}}
	objects = append(objects,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "site-a", Name: contract.KnownHostsName("edge-1")}, Data: map[string]string{contract.KeyKnownHosts: pins.String()}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "site-a", Name: contract.InstalledName("edge-1")}, Data: map[string]string{
			contract.KeyHosts:     fmt.Sprintf(`{%q: "used"}`, host1),
			contract.KeyInstalled: fmt.Sprintf(`{"nodes": [{"name": "master-1", "host": "host-1", "hostUID": %q, "address": "10.0.0.1"}]}`, host1)}})
	return newTerminal(t, objects...), servers, strconv.Itoa(servers[0].Port)
}

// attached returns the names of the hosts that no annotation holds back.
func (w *terminal) attached() (names []string) {
	w.t.Helper()
	var all metal3.BareMetalHostList
	if err := w.cluster.List(w.t.Context(), &all); err != nil {
		w.t.Fatal(err)
	}
	for _, h := range all.Items {
		if len(h.Annotations) == 0 {
			names = append(names, h.Name)
		}
	}
	return names
}

func TestHostsThatAgreeAreAttached(t *testing.T) {
	w, _, port := restoredSite(t)
	code := w.run(t.Context(), "hosts", "attach", "--ssh-port", port, "--dry-run=server")
	w.expect(code, codeNotYet, "asked 4 of 4", "nothing was changed")
	if got := w.attached(); len(got) > 0 {
		t.Fatalf("a dry run has attached %v", got)
	}
	code = w.run(t.Context(), "hosts", "attach", "--ssh-port", port)
	w.expect(code, codeNotYet, "2 of 4 hosts wait", "kubectl bpa hosts attach host-3 -n site-a")
	for _, want := range []string{
		`host-1 +agrees +it has the cluster site-a/edge-1 +attached`, `host-2 +agrees +no cluster is on it +attached`,
		`host-3 +newer +it has the cluster site-a/edge-2 \(later\); the objects have none on it +waits`, `host-4 +silent .* +waits`,
	} {
		if !regexp.MustCompile(want).MatchString(w.text()) {
			t.Errorf("no %q in:\n%s", want, w.text())
		}
	}
	if got := w.attached(); !slices.Equal(got, []string{"host-1", "host-2"}) {
		t.Errorf("attached are %v", got)
	}
	w.expect(w.run(t.Context(), "hosts", "attach", "host-4", "host-1", "--ssh-port", port), codeFailed, "no restore has detached host-1 in namespace site-a, so nothing was changed")
	w.expect(w.run(t.Context(), "hosts", "attach", "host-4", "--ssh-port", port), codeDone)
	if got := w.attached(); !slices.Equal(got, []string{"host-1", "host-2", "host-4"}) {
		t.Errorf("attached are %v", got)
	}
	w.expect(w.run(t.Context(), "hosts", "attach", "--all", "--ssh-port", port), codeDone)
	w.expect(w.run(t.Context(), "hosts", "attach", "-A"), codeDone, "No host waits")
}

// A server that shows another host key than the pinned one proves nothing, whatever it says.
func TestAServerWithAnotherHostKeyWaits(t *testing.T) {
	w, servers, port := restoredSite(t)
	var secret corev1.Secret
	if err := w.cluster.Get(t.Context(), client.ObjectKey{Namespace: "site-a", Name: "ssh-key"}, &secret); err != nil {
		t.Fatal(err)
	}
	key, err := ssh.ParseKey(secret.Data["ssh-privatekey"])
	if err != nil {
		t.Fatal(err)
	}
	another, _ := sshtest.NewKey(t)
	servers[0].Rekey(key.PublicKey(), another)
	w.expect(w.run(t.Context(), "hosts", "attach", "--ssh-port", port), codeNotYet, "its SSH host key is")
	if got := w.attached(); !slices.Equal(got, []string{"host-2"}) {
		t.Errorf("attached are %v", got)
	}
}

// The bootstrap module does not import this one, so it has the names and values of its own.
func TestTheBootstrapModuleWritesTheSameAnnotations(t *testing.T) {
	text, err := os.ReadFile("../../bootstrap/internal/restore/hosts.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{contract.AnnotationDetachedByRestore, contract.RestoredPaused, contract.RestoredDetached, metal3.PausedAnnotation, metal3.DetachedAnnotation} {
		if !strings.Contains(string(text), `"`+value+`"`) && !strings.Contains(string(text), "`"+value+"`") {
			t.Errorf("the bootstrap module does not use %s", value)
		}
	}
}
