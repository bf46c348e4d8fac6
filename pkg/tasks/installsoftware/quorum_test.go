package installsoftware

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/ssh/sshtest"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// A control plane is drained only while all others are Ready. A worker that is down, and a control plane in
// standby, keep none from being drained.
func TestQuorum(t *testing.T) {
	for name, test := range map[string]struct {
		down    []string
		standby bool
		want    contract.Reason
	}{
		"all are Ready":                {nil, false, ""},
		"a control plane is not Ready": {[]string{"master-2"}, false, contract.ReasonQuorumAtRisk},
		"it is in standby":             {[]string{"master-2"}, true, ""},
		"a worker is not Ready":        {[]string{"worker-1"}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t).wants("driver:Reboot")
			w.in.Nodes[2].Name, w.in.Nodes[2].Roles, w.in.Nodes[2].Standby = "master-2", []string{contract.RoleControlPlane}, test.standby
			w.in.Request.Software.Nodes = []string{"master-1"}
			w.has["master-2"], w.states["master-2"] = map[string]string{}, w.states["worker-2"]
			delete(w.states, "worker-2")
			for _, n := range test.down {
				w.states[n] = State{Boot: "boot-1"}
			}
			_, err := w.run(t.Context())
			if drained := slices.Contains(w.did, "drain master-1"); drained != (test.want == "") {
				t.Errorf("steps %v", w.did)
			}
			if test.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if f := task.FailureOf(err); f.Reason != test.want || f.Host != "master-2" || !strings.Contains(f.Message, "not Ready: master-2") {
				t.Errorf("failure %+v", f)
			}
			if slices.Contains(w.did, "cordon master-1") {
				t.Errorf("a node that is not drained is cordoned: %v", w.did)
			}
		})
	}
}

// Etcd can be sick while all nodes are Ready. It is asked before a control plane is drained, and again before it
// boots. A control plane that was not rebooted boots in the next run.
func TestEtcdIsAsked(t *testing.T) {
	w := newFixture(t).wants("driver:Reboot")
	w.in.Request.Software.Nodes = []string{"master-1"}
	w.sick = func() error { return errors.New("without it, only 1 of 3 members of etcd are healthy") }
	_, err := w.run(t.Context())
	if err == nil {
		t.Fatalf("steps %v", w.did)
	}
	if f := task.FailureOf(err); f.Reason != contract.ReasonQuorumAtRisk || f.Host != "master-1" || !strings.Contains(f.Message, "is not drained for its packages: without it, only 1 of 3") {
		t.Errorf("failure %+v", f)
	}
	if slices.Contains(w.did, "cordon master-1") {
		t.Errorf("steps %v", w.did)
	}

	asked := 0
	w.sick = func() error {
		if asked++; asked == 2 {
			return errors.New("a second member has failed")
		}
		return nil
	}
	_, err = w.run(t.Context())
	if f := task.FailureOf(err); f.Reason != contract.ReasonQuorumAtRisk || !strings.Contains(f.Message, "it was not rebooted: a second member has failed") {
		t.Errorf("failure %+v", f)
	}
	ask := "ask etcd about master-1 on master-1"
	w.expect([]string{"look.yml " + all, ask, "cordon master-1", "drain master-1", "apply.yml master-1", ask, "uncordon master-1"},
		[]string{"master-1 driver Installed", "worker-1 driver Pending: the next one", "worker-2 driver Pending: the next one"})

	w.sick = nil
	if _, err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(w.did, "reboot.yml master-1") {
		t.Errorf("steps %v", w.did)
	}
}

// The question reaches etcdctl on a control plane over SSH. One of three members does not answer.
func TestSparesAsksEtcd(t *testing.T) {
	user, file := sshtest.NewKey(t)
	hostKey, _ := sshtest.NewKey(t)
	server := sshtest.StartOn(t, sshtest.Listen(t, "127.0.0.1")[0], user.PublicKey(), func(command string, stdout, _ io.Writer) int {
		switch {
		case strings.HasPrefix(command, "test -s /etc/ssl/etcd/ssl/admin-master-1.pem"):
		case strings.Contains(command, " member list "):
			var all []string
			for i := range 3 {
				all = append(all, fmt.Sprintf(`{"ID":%d,"name":"etcd%[1]d","peerURLs":["https://127.0.0.%[1]d:2380"],"clientURLs":["https://127.0.0.%[1]d:2379"]}`, i+1))
			}
			fmt.Fprintf(stdout, `{"members":[%s]}`, strings.Join(all, ","))
		case strings.Contains(command, " endpoint health --cluster "):
			fmt.Fprint(stdout, `[{"endpoint":"https://127.0.0.1:2379","health":true},{"endpoint":"https://127.0.0.2:2379","health":false},{"endpoint":"https://127.0.0.3:2379","health":true}]`)
			return 1
		default:
			return 127
		}
		return 0
	}, hostKey)
	plane := func(i int) contract.Node {
		return contract.Node{Name: fmt.Sprintf("master-%d", i), HostUID: fmt.Sprintf("uid-%d", i), Address: fmt.Sprintf("127.0.0.%d", i), Roles: []string{contract.RoleControlPlane}}
	}
	in := Input{ConnectLimit: 5 * time.Second, CallLimit: 5 * time.Second, Cluster: node.Cluster{PrivateKey: file, Request: contract.Request{Spec: contract.Spec{SSHUser: "root", SSHPort: server.Port}}}}
	pins := ssh.Pins{}.With(ssh.Pin{UID: "uid-1", Host: "host-1", At: fmt.Sprintf("127.0.0.1:%d", server.Port), Key: hostKey.PublicKey()})
	known := &memory{data: map[string]string{contract.KeyKnownHosts: pins.String()}}
	for i, want := range map[int]string{2: "", 3: "without it, only 1 of 3 members of etcd are healthy"} {
		err := Spares(t.Context(), in, node.DialSSH, known, []contract.Node{plane(1)}, plane(i))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("master-%d: %v, want %q", i, err, want)
		}
	}
}
