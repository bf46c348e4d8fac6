package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/ssh/sshtest"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

func TestFirstControlPlane(t *testing.T) {
	hostKey, _ := sshtest.NewKey(t)
	master := func(n int) contract.Node {
		return contract.Node{Name: fmt.Sprint("m", n), HostUID: fmt.Sprint("u", n), Address: fmt.Sprint("10.0.0.", n), Roles: []string{contract.RoleControlPlane, contract.RoleWorker}}
	}
	worker := contract.Node{Name: "w", HostUID: "u0", Address: "10.0.0.9", Roles: []string{contract.RoleWorker}}
	changed := &ssh.KeyChangedError{Want: "a", Got: "b"}
	for _, tc := range []struct {
		name   string
		nodes  []contract.Node
		errors map[string]error
		want   string
		reason contract.Reason
	}{
		{"the first", []contract.Node{worker, master(1), master(2)}, nil, "m1", ""},
		{"the first that answers", []contract.Node{master(1), master(2)}, map[string]error{"10.0.0.1": ssh.ErrUnreachable}, "m2", ""},
		{"none answers", []contract.Node{master(1), master(2)}, map[string]error{"10.0.0.1": ssh.ErrDenied, "10.0.0.2": ssh.ErrUnreachable}, "m1", contract.ReasonSSHDenied},
		{"changed", []contract.Node{master(1)}, map[string]error{"10.0.0.1": fmt.Errorf("dial: %w", changed)}, "m1", contract.ReasonHostKeyChanged},
		{"down", []contract.Node{master(1)}, map[string]error{"10.0.0.1": errors.New("no")}, "m1", contract.ReasonHostUnreachable},
		{"never seen", []contract.Node{master(7)}, nil, "m7", contract.ReasonInvalidRequest},
		{"no control plane", []contract.Node{worker}, nil, "", contract.ReasonInvalidRequest},
	} {
		t.Run(tc.name, func(t *testing.T) {
			access := Access{Limit: time.Second, Dial: func(_ context.Context, to ssh.Target, _ ssh.Key, pinned ssh.HostKey) (Connection, error) {
				if pinned == nil {
					t.Error("connected without a pinned key")
				}
				return nil, tc.errors[to.Address]
			}}
			for _, uid := range []string{"u0", "u1", "u2"} {
				access.Pins = append(access.Pins, ssh.Pin{UID: uid, Key: hostKey.PublicKey()})
			}
			_, got, err := access.FirstControlPlane(context.Background(), tc.nodes)
			if tc.reason == "" {
				if err != nil || got.Name != tc.want {
					t.Errorf("connected to %q, %v; want %q", got.Name, err, tc.want)
				}
				return
			}
			if f := task.FailureOf(err); f.Reason != tc.reason || f.Host != tc.want {
				t.Errorf("failure %+v, want %s of %q", f, tc.reason, tc.want)
			}
		})
	}
}

func TestNewAccess(t *testing.T) {
	_, file := sshtest.NewKey(t)
	hostKey, _ := sshtest.NewKey(t)
	pins := ssh.Pins{{UID: "u1", Host: "h1", At: "10.0.0.1:22", Key: hostKey.PublicKey()}}
	request := contract.Request{Spec: contract.Spec{Provisioning: "edge-1", SSHUser: "root"}}
	access, err := NewAccess(DialSSH, request, file, pins.String(), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if access.Dial == nil || access.Key == nil || access.Request.SSHUser != "root" || access.Limit != time.Second || access.Pins.Of("u1") == nil || access.Pins.Of("u2") != nil {
		t.Errorf("access %+v", access)
	}
	for name, tc := range map[string]struct{ key, knownHosts, says string }{
		"a key that is none":        {"nonsense", pins.String(), KeyFile},
		"host keys that are broken": {string(file), "10.0.0.1 ssh-ed25519 nonsense u1 h1\n", "ConfigMap " + contract.KnownHostsName("edge-1")},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewAccess(DialSSH, request, []byte(tc.key), tc.knownHosts, time.Second)
			if f := task.FailureOf(err); err == nil || f.Reason != contract.ReasonInvalidRequest || !strings.Contains(f.Message, tc.says) {
				t.Errorf("failure %+v", f)
			}
		})
	}
}

func TestAsRoot(t *testing.T) {
	for user, want := range map[string]string{"root": "id", "debian": "sudo -n id"} {
		if got := AsRoot(contract.Request{Spec: contract.Spec{SSHUser: user}}, "id"); got != want {
			t.Errorf("AsRoot for %s = %q, want %q", user, got, want)
		}
	}
}
