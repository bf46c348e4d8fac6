package installsoftware

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akraino-icn/bpa/pkg/appcluster/apitest"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/ssh/sshtest"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// The pod is created through a control plane over SSH, and deleted.
func TestStartPodsOverSSH(t *testing.T) {
	user, file := sshtest.NewKey(t)
	hostKey, _ := sshtest.NewKey(t)
	server := sshtest.StartOn(t, sshtest.Listen(t, "127.0.0.1")[0], user.PublicKey(), func(command string, _, _ io.Writer) int {
		return map[bool]int{true: 0, false: 127}[command == "true"]
	}, hostKey)
	var mu sync.Mutex
	var did []string
	api := apitest.Start(t)
	api.Objects = func(call apitest.Call) ([]runtime.Object, error) {
		return []runtime.Object{
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1"}, Status: corev1.NodeStatus{Images: []corev1.ContainerImage{{Names: []string{"registry.k8s.io/pause:3.10"}}}}},
			&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "bpa-pod-start-1", Labels: asked(call)}, Spec: corev1.PodSpec{NodeName: "worker-1"},
				Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}},
		}, nil
	}
	api.Change = func(call apitest.Call) error {
		mu.Lock()
		defer mu.Unlock()
		did = append(did, call.Verb+" "+call.Resource)
		return nil
	}
	dial := func(ctx context.Context, to ssh.Target, key ssh.Key, pinned ssh.HostKey) (node.Connection, error) {
		conn, err := node.DialSSH(ctx, to, key, pinned)
		if err != nil {
			return nil, err
		}
		return api.Through(conn), nil
	}
	plane := contract.Node{Name: "master-1", HostUID: "uid-1", Address: "127.0.0.1", Roles: []string{contract.RoleControlPlane}}
	in := Input{ConnectLimit: 5 * time.Second, CallLimit: 5 * time.Second, ReadyLimit: 5 * time.Second, Cluster: node.Cluster{
		Nodes: []contract.Node{plane}, PrivateKey: file, Request: contract.Request{Spec: contract.Spec{SSHUser: "root", SSHPort: server.Port}}}}
	pins := ssh.Pins{}.With(ssh.Pin{UID: "uid-1", Host: "host-1", At: fmt.Sprintf("127.0.0.1:%d", server.Port), Key: hostKey.PublicKey()})
	known := &memory{data: map[string]string{contract.KeyKnownHosts: pins.String()}}
	failed, err := StartPods(t.Context(), in, dial, known, []string{"worker-1"}, io.Discard)
	if err != nil || len(failed) > 0 {
		t.Errorf("%v, %v", failed, err)
	}
	if want := []string{"deletecollection pods", "create pods", "deletecollection pods"}; !slices.Equal(did, want) {
		t.Errorf("changes %v, want %v", did, want)
	}
}

// asked returns the labels that a call selects.
func asked(call apitest.Call) map[string]string {
	set, err := metav1.ParseToLabelSelector(call.Labels)
	if err != nil {
		return nil
	}
	return set.MatchLabels
}
