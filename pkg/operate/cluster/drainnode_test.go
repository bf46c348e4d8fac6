package cluster

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akraino-icn/bpa/pkg/appcluster/apitest"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/operate/session/sessiontest"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/ssh/sshtest"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// plane is a control plane of the test. kubectl still reads the nodes there.
type plane struct{ node.Connection }

func (plane) Output(_ context.Context, command string, _ int) ([]byte, error) {
	if strings.Contains(command, " get nodes ") {
		return []byte(sessiontest.List(sessiontest.NodeJSON("master-1", "True", ""), sessiontest.NodeJSON("worker-1", "Unknown", "NodeStatusUnknown"))), nil
	}
	return nil, nil
}

func (plane) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, network, address)
}

func (plane) Close() error { return nil }

// startAPI starts an API server that knows a pod that must leave worker-1.
func startAPI(t *testing.T) *apitest.Server {
	api := apitest.Start(t)
	api.Objects = func(apitest.Call) ([]runtime.Object, error) {
		return []runtime.Object{&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1-0", OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet"}}},
			Spec: corev1.PodSpec{NodeName: "worker-1"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}}, nil
	}
	return api
}

// An API server that was away for some time reports nodes that live as not Ready. A node is dead only
// if it was seen so all the time.
func TestDrainAfterAnOutage(t *testing.T) {
	master := contract.Node{Name: "master-1", HostUID: "uid-1", Address: "10.60.0.1", Roles: []string{contract.RoleControlPlane}}
	key, _ := sshtest.NewKey(t)
	pins := ssh.Pins{}.With(ssh.Pin{UID: master.HostUID, Host: "host-1", At: "10.60.0.1:22", Key: key.PublicKey()})
	api := startAPI(t)
	dial := func(context.Context, ssh.Target, ssh.Key, ssh.HostKey) (node.Connection, error) {
		return api.Through(plane{}), nil
	}
	w := &Client{Input: session.Input{Nodes: []contract.Node{master}, ProbeLimit: 20 * time.Second}, // a node is dead after 30 s, half of the limit of its drain
		Access: node.Access{Dial: dial, Key: key, Limit: time.Second}}
	d := drainage{w: w, name: "worker-1", limit: time.Minute, log: io.Discard, report: func(float64, string) {}}
	if _, err := d.round(t.Context()); err == nil { // without pins, no control plane can be asked
		t.Fatal("no error")
	}
	for _, tc := range []struct {
		passed       time.Duration // since the round before
		outage, dead bool
	}{
		{0, false, false},                      // the first look
		{time.Hour, true, false},               // no API server answers
		{0, false, false},                      // it answers again: this is the first look
		{100 * time.Millisecond, false, false}, // not long enough
		{time.Hour, false, true},
	} {
		if !d.sick.IsZero() {
			d.sick = d.sick.Add(-tc.passed)
		}
		if w.Access.Pins = pins; tc.outage {
			w.Close()
			w.Access.Pins = nil
		}
		done, err := d.round(t.Context())
		if (err != nil) != tc.outage || done != tc.dead {
			t.Errorf("%+v: done %t, %v", tc, done, err)
		}
	}
}
