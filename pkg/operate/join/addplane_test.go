package join_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/etcd"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

func TestAddControlPlane(t *testing.T) {
	for _, tc := range []struct {
		name                      string
		stacked                   bool
		masters, workers, members int
		did                       []string
		etcd                      []string
		connected                 []string
	}{
		{"the second one, which is no member of etcd", false, 1, 2, 1,
			[]string{"cluster.yml master-2", "proxies worker-1"},
			[]string{"1"}, []string{"master-1", "master-2"}},
		{"the third one, with which the second one becomes a member", false, 2, 3, 1,
			[]string{"cluster.yml master-1,master-2,master-3", "upload master-1", "apiserver master-1", "apiserver master-2", "apiserver master-3", "proxies worker-1", "proxies worker-2"},
			[]string{"1", "2", "5"}, []string{"master-1", "master-2", "master-3"}},
		{"the second one, with etcd in pods", true, 1, 4, 1,
			[]string{"cluster.yml master-2", "proxies worker-1,worker-2", "proxies worker-3"},
			[]string{"1", "5"}, []string{"master-1", "master-2"}},
		{"the third one, with etcd in pods and no workers", true, 2, 1, 2,
			[]string{"cluster.yml master-1,master-2,master-3"},
			[]string{"1", "2", "3"}, []string{"master-1", "master-2", "master-3"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := kubespraytest.NewPlanes(t, tc.stacked, tc.masters, tc.workers, tc.members)
			p.Grow(fmt.Sprintf("master-%d", tc.masters+1))
			got := p.GotDropIn()
			if _, err := p.Run(); err != nil {
				t.Fatalf("%v\n%s", err, &p.Log)
			}
			// the playbook also configures the kubelets of control planes that stay
			played, _, _ := strings.Cut(strings.TrimPrefix(tc.did[0], "cluster.yml "), " ")
			if prepared := len(got()); prepared != len(strings.Split(played, ",")) {
				t.Errorf("%d kubelets of %s are prepared", prepared, played)
			}
			if diff := cmp.Diff(tc.did, p.ChangesOnly()); diff != "" {
				t.Errorf("changes (-want +got):\n%s\n%s", diff, &p.Log)
			}
			p.ExpectMemberAddresses(tc.etcd...)
			p.ExpectFiles(false)
			if diff := cmp.Diff(tc.connected, p.Connected()); diff != "" {
				t.Errorf("connected to (-want +got):\n%s", diff)
			}
			if len(p.Now().Nodes) != len(p.In.Nodes) {
				t.Errorf("record: %v", session.Names(p.Now().Nodes))
			}
			// the run was killed after its end: another attempt changes nothing more
			p.Did, p.In.Request.Installed = nil, append(p.In.Request.Installed, p.In.Nodes[len(p.In.Nodes)-1].Host)
			if _, err := p.Run(); err != nil {
				t.Fatalf("%v\n%s", err, &p.Log)
			}
			for _, what := range p.ChangesOnly() {
				if !strings.HasPrefix(what, "proxies ") {
					t.Errorf("the second attempt did %s", what)
				}
			}
		})
	}
}

// The new machine has the name of the lost one.
// TestAddAControlPlaneWithAnAddressThatMoves: the present control plane knows the new one before it joins, and again after that,
// because an attempt can end between both.
func TestAddAControlPlaneWithAnAddressThatMoves(t *testing.T) {
	p := kubespraytest.NewPlanes(t, true, 1, 1, 1)
	p.MoveAddress()
	p.Grow("master-2")
	if _, err := p.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &p.Log)
	}
	first, second := "master-1 shares the address with 10.60.0.2", "master-2 shares the address with 10.60.0.1"
	if diff := cmp.Diff([]string{first, second, "cluster.yml master-2", first, second}, p.ChangesOnly()); diff != "" {
		t.Errorf("changes (-want +got):\n%s\n%s", diff, &p.Log)
	}
}

func TestReplaceTheFirstControlPlane(t *testing.T) {
	for name, stacked := range map[string]bool{"etcd on the machines": false, "etcd in pods": true} {
		t.Run(name, func(t *testing.T) {
			p := kubespraytest.NewReplacedPlane(t, stacked)
			if _, err := p.Run(); err != nil {
				t.Fatalf("%v\n%s", err, &p.Log)
			}
			want := []string{"member remove a1", "delete master-1", "certificates master-2", "repoint master-2", "repoint master-3", "cluster-info master-2"}
			if stacked {
				want = []string{"member remove a1", "delete master-1", "repoint master-2", "repoint master-3", "cluster-info master-2", "upload master-2", "cluster.yml master-2,master-3,master-1", "proxies worker-1"}
			} else {
				want = append(want, "upload master-2", "cluster.yml master-2,master-3,master-1", "upload master-2", "apiserver master-2", "apiserver master-3", "apiserver master-1", "proxies worker-1")
			}
			if diff := cmp.Diff(want, p.ChangesOnly()); diff != "" {
				t.Errorf("changes (-want +got):\n%s\n%s", diff, &p.Log)
			}
			expectReplaced(p)
			var extra map[string]any
			if raw, err := os.ReadFile(p.In.ScratchDir + "/extra-vars.json"); err != nil || json.Unmarshal(raw, &extra) != nil || extra["force_etcd_cert_refresh"] != false {
				t.Errorf("extra variables %v, %v", extra, err)
			}
		})
	}
}

func expectReplaced(p *kubespraytest.Planes) {
	p.T.Helper()
	p.ExpectMemberAddresses("2", "3", "5")
	p.ExpectFiles(true)
	record := p.Now()
	if diff := cmp.Diff([]string{"master-2", "master-3", "master-1", "worker-1"}, session.Names(record.Nodes)); diff != "" {
		p.T.Errorf("record (-want +got):\n%s", diff)
	}
	if n := record.Nodes[2]; n.Etcd != "etcd4" || n.Address != "10.60.0.5" || record.EtcdNext != 5 {
		p.T.Errorf("the new control plane is %+v, and the next number is %d", n, record.EtcdNext)
	}
	if file, did := p.Read("machine-3/etc/kubernetes/kubelet.conf"), p.Read("machine-3/systemctl.log"); file != "    server: https://10.60.0.3:6443\n" || did != "restart kubelet\n" {
		p.T.Errorf("kubelet.conf of master-3 is %s, and the task did %s", file, did)
	}
	if !p.Nodes["master-1"] || p.Addresses["master-1"] != "10.60.0.5" {
		p.T.Errorf("master-1 is Ready: %t, at %s", p.Nodes["master-1"], p.Addresses["master-1"])
	}
}

// The task can be killed before each of its changes. The next attempt ends in the same state.
func TestReplacementOfAControlPlaneThatIsKilled(t *testing.T) {
	t.Parallel()
	for name, stacked := range map[string]bool{"etcd on the machines": false, "etcd in pods": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for at := 1; ; at++ {
				p := kubespraytest.NewReplacedPlane(t, stacked)
				p.KillAt, p.In.ProbeLimit = at, 500*time.Millisecond
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				p.Kill = cancel
				_, err := kubespray.Run(ctx, p.In, p.Ports())
				cancel()
				if err == nil {
					if at < 15 {
						t.Errorf("only %d changes were interrupted", at-1)
					}
					return
				}
				before := fmt.Sprintf("before change %d, after %v", at, p.Did)
				p.KillAt, p.In.ProbeLimit = 0, 10*time.Second
				p.In.Request.Installed = append(p.In.Request.Installed, "host-5")
				if _, err := p.Run(); err != nil {
					t.Errorf("killed %s: %v\n%s", before, err, &p.Log)
				}
				expectReplaced(p)
				if t.Failed() {
					t.Fatalf("killed %s: then %v\n%s", before, p.Did, &p.Log)
				}
			}
		})
	}
}

func TestAdditionOfAControlPlaneThatIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(p *kubespraytest.Planes)
		reason contract.Reason
		says   string
	}{
		"the members are not known": {func(p *kubespraytest.Planes) { p.In.Request.Members = nil }, contract.ReasonInvalidRequest, "which nodes the cluster has"},
		"a worker is new":           {func(p *kubespraytest.Planes) { p.In.Nodes[2].Roles = []string{contract.RoleWorker} }, contract.ReasonInvalidRequest, "only control planes"},
		"a member is sick":          {func(p *kubespraytest.Planes) { p.Members[1].Sick = true; p.Join("10.60.0.9") }, contract.ReasonQuorumAtRisk, "is not healthy. Nothing was changed"},
		"no API server":             {func(p *kubespraytest.Planes) { p.Cluster = nil }, contract.ReasonQuorumAtRisk, "recover-control-plane.yml"},
		"etcd has no majority":      {func(p *kubespraytest.Planes) { p.Members[1].Sick = true }, contract.ReasonQuorumAtRisk, "switch on one of their machines"},
	} {
		t.Run(name, func(t *testing.T) {
			p := kubespraytest.NewPlanes(t, true, 2, 1, 2)
			p.Grow("master-3")
			p.In.ProbeLimit = time.Second
			tc.change(p)
			_, err := p.Run()
			if f := task.FailureOf(err); err == nil || f.Reason != tc.reason || !strings.Contains(f.Message, tc.says) {
				t.Errorf("failure %+v", f)
			}
			if did := p.ChangesOnly(); len(did) > 0 {
				t.Errorf("it did %v", did)
			}
		})
	}
}

// A lost control plane that is alive is not removed.
func TestReplacementOfALivingControlPlane(t *testing.T) {
	p := kubespraytest.NewReplacedPlane(t, false)
	p.Nodes["master-1"] = true
	_, err := p.Run()
	if f := task.FailureOf(err); err == nil || f.Reason != contract.ReasonResetIncomplete || !strings.Contains(f.Message, "Switch the machine off") {
		t.Errorf("failure %+v\n%s", f, &p.Log)
	}
	p.ExpectMemberAddresses("1", "2", "3")
}

// Members that an unfinished attempt has left are removed before the next join.
func TestStrayMembers(t *testing.T) {
	p := kubespraytest.NewPlanes(t, true, 2, 1, 2)
	p.Grow("master-3")
	p.Members = append(p.Members, &kubespraytest.Member{ID: 0xb1, Address: "10.60.0.3"}, &kubespraytest.Member{ID: 0xb2, Address: "10.60.0.77"})
	p.Join("10.60.0.4") // works, so it stays, although nobody knows its machine
	if _, err := p.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &p.Log)
	}
	if diff := cmp.Diff([]string{"member remove b1", "member remove b2"}, p.ChangesOnly()[:2]); diff != "" {
		t.Errorf("changes (-want +got):\n%s\n%s", diff, &p.Log)
	}
}

// The playbook has failed after the new machine had become a member of etcd. The next attempt
// removes the member and resets the machine, and then it joins as a new one.
func TestAdditionAfterAFailedAttempt(t *testing.T) {
	p := kubespraytest.NewReplacedPlane(t, false)
	p.Half = true
	if _, err := p.Run(); err == nil {
		t.Fatal("a failed playbook is no error")
	}
	p.ExpectMemberAddresses("2", "3", "5")
	p.Half, p.Did = false, nil
	p.In.Request.Installed = append(p.In.Request.Installed, "host-5")
	if _, err := p.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &p.Log)
	}
	want := []string{"member remove a4", "save master-1", "reset.yml master-1", "clean master-1", "cluster.yml master-2,master-3,master-1",
		"upload master-2", "apiserver master-2", "apiserver master-3", "apiserver master-1", "proxies worker-1"}
	if diff := cmp.Diff(want, p.ChangesOnly()); diff != "" {
		t.Errorf("changes (-want +got):\n%s\n%s", diff, &p.Log)
	}
	expectReplaced(p)
}

// Names of nodes are used again, for example if a cluster shrinks to one control plane and grows again
// on other machines. Kubespray must make new certificates for these machines.
func TestCertificatesOfReusedNames(t *testing.T) {
	p := kubespraytest.NewPlanes(t, false, 2, 2, 1)
	p.Grow("master-3")
	var old []string
	for _, at := range []string{"machine-1", "machine-2"} {
		for _, name := range []string{"member-master-2", "member-master-3", "admin-master-3"} {
			old = append(old, at+etcd.HostCertificates+name+".pem", at+etcd.HostCertificates+name+"-key.pem")
		}
		p.Write(at+etcd.HostCertificates+"member-master-1.pem", "in use")
	}
	for _, name := range old {
		p.Write(name, "for another address")
	}
	play := p.Play
	p.Play = func(c process.Command, stdout, stderr io.Writer) int {
		for _, name := range old {
			if p.Read(name) == "for another address" {
				t.Errorf("%s exists when %s begins", name, c.Args[len(c.Args)-1])
			}
		}
		return play(c, stdout, stderr)
	}
	if _, err := p.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &p.Log)
	}
	p.ExpectMemberAddresses("1", "2", "4")
	if p.Read("machine-1"+etcd.HostCertificates+"member-master-1.pem") != "in use" {
		t.Error("a certificate that is in use is gone")
	}
}
