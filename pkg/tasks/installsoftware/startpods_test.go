package installsoftware

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/ssh/sshtest"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// The pod is created with kubectl on a control plane over SSH, and deleted.
func TestStartPodsOverSSH(t *testing.T) {
	user, file := sshtest.NewKey(t)
	hostKey, _ := sshtest.NewKey(t)
	var mu sync.Mutex
	var did []string
	server := sshtest.StartOn(t, sshtest.Listen(t, "127.0.0.1")[0], user.PublicKey(), func(command string, stdout, _ io.Writer) int {
		mu.Lock()
		defer mu.Unlock()
		_, arguments, found := strings.Cut(command, "kubectl --kubeconfig /etc/kubernetes/admin.conf ")
		words := strings.Fields(arguments)
		if !found || len(words) < 2 {
			return 127
		}
		switch what := words[0] + " " + words[1]; what {
		case "get nodes":
			fmt.Fprint(stdout, `{"items":[{"metadata":{"name":"worker-1"},"status":{"images":[{"names":["registry.k8s.io/pause:3.10"]}]}}]}`)
		case "get pods":
			fmt.Fprint(stdout, `{"items":[{"metadata":{"name":"bpa-pod-start-1"},"spec":{"nodeName":"worker-1"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}]}`)
		default:
			did = append(did, what)
		}
		return 0
	}, hostKey)
	plane := contract.Node{Name: "master-1", HostUID: "uid-1", Address: "127.0.0.1", Roles: []string{contract.RoleControlPlane}}
	in := Input{Nodes: []contract.Node{plane}, PrivateKey: file, ConnectLimit: 5 * time.Second, CallLimit: 5 * time.Second, ReadyLimit: 5 * time.Second,
		Request: contract.Request{Spec: contract.Spec{SSHUser: "root", SSHPort: server.Port}}}
	pins := ssh.Pins{}.With(ssh.Pin{UID: "uid-1", Host: "host-1", At: fmt.Sprintf("127.0.0.1:%d", server.Port), Key: hostKey.PublicKey()})
	known := &memory{data: map[string]string{contract.KeyKnownHosts: pins.String()}}
	failed, err := StartPods(t.Context(), in, node.DialSSH, known, []string{"worker-1"}, io.Discard)
	if err != nil || len(failed) > 0 {
		t.Errorf("%v, %v", failed, err)
	}
	if want := []string{"delete pods", "create --filename", "delete pods"}; !slices.Equal(did, want) {
		t.Errorf("commands %v, want %v", did, want)
	}
}
