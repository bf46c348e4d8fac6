package remove_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

func TestRemoveControlPlane(t *testing.T) {
	emptied := func(name string) []string {
		return []string{"save " + name, "reset.yml " + name, "clean " + name, "authorize " + name, "delete " + name, "proxies worker-1", "proxies worker-2"}
	}
	for _, tc := range []struct {
		name    string
		stacked bool
		masters int
		leaves  string
		did     []string
		etcd    []string
	}{
		{"the last one", false, 3, "master-3", slices.Concat([]string{"cordon master-3", "drain master-3", "member remove a3",
			"upload master-1", "apiserver master-1", "apiserver master-2"}, emptied("master-3")), []string{"1", "2"}},
		{"the first one", false, 3, "master-1", slices.Concat([]string{"cordon master-1", "repoint master-2", "repoint master-3",
			"cluster-info master-2", "member remove a1", "upload master-2", "apiserver master-2", "apiserver master-3"}, emptied("master-1")), []string{"2", "3"}},
		{"the first one of two", false, 2, "master-1", slices.Concat([]string{"cordon master-1", "repoint master-2",
			"cluster-info master-2", "member remove a1", "upload master-2", "apiserver master-2"}, emptied("master-1")), []string{"2"}},
		{"the first one, with etcd in pods", true, 3, "master-1", slices.Concat([]string{"cordon master-1", "repoint master-2", "repoint master-3",
			"cluster-info master-2", "member remove a1", "upload master-2"}, emptied("master-1")), []string{"2", "3"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := kubespraytest.NewLeaving(t, tc.stacked, tc.masters, tc.leaves)
			if _, err := p.Run(); err != nil {
				t.Fatalf("%v\n%s", err, &p.Log)
			}
			if diff := cmp.Diff(tc.did, p.Did); diff != "" {
				t.Errorf("changes (-want +got):\n%s\n%s", diff, &p.Log)
			}
			p.ExpectMemberAddresses(tc.etcd...)
			p.ExpectFiles(tc.leaves == "master-1")
			if record := p.Now(); session.HasName(record.Nodes, tc.leaves) || len(record.Leaving)+len(record.Draining) > 0 || len(etcdNames(record)) != len(tc.etcd) {
				t.Errorf("record %+v", record)
			}
		})
	}
}

// TestRemoveAControlPlaneWithAnAddressThatMoves: it gives the address up before its member leaves etcd. Nothing asks a machine
// that is lost.
func TestRemoveAControlPlaneWithAnAddressThatMoves(t *testing.T) {
	for name, lost := range map[string]bool{"it works": false, "it is lost": true} {
		t.Run(name, func(t *testing.T) {
			p := kubespraytest.NewLeaving(t, false, 3, "master-1")
			p.MoveAddress()
			if lost {
				p.Lose()
			}
			if _, err := p.Run(); err != nil {
				t.Fatalf("%v\n%s", err, &p.Log)
			}
			want := []string{"master-1 gives up the address", "master-2 shares the address with 10.60.0.3", "master-3 shares the address with 10.60.0.2", "member remove a1"}
			if lost {
				want = want[1:]
			}
			if strings.Contains(p.Log.String(), "does not give up the address") {
				t.Errorf("asks a machine that is lost:\n%s", &p.Log)
			}
			got := slices.DeleteFunc(slices.Clone(p.Did), func(did string) bool { return !strings.Contains(did, "address") && !strings.HasPrefix(did, "member") })
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("changes (-want +got):\n%s\n%s", diff, &p.Log)
			}
		})
	}
}

func etcdNames(i contract.Installed) (names []string) {
	for _, n := range i.Nodes {
		if n.Etcd != "" {
			names = append(names, n.Etcd)
		}
	}
	return names
}

// The machine of the first control plane is dead. Nothing connects to it, and no pod is evicted.
func TestRemoveLostControlPlane(t *testing.T) {
	p := kubespraytest.NewLeaving(t, false, 3, "master-1")
	p.Lose()
	out, err := p.Run()
	if err != nil {
		t.Fatalf("%v\n%s", err, &p.Log)
	}
	want := []string{"repoint master-2", "repoint master-3", "cluster-info master-2", "member remove a1", "upload master-2", "apiserver master-2", "apiserver master-3",
		"delete master-1", "proxies worker-1", "proxies worker-2"}
	if diff := cmp.Diff(want, p.Did); diff != "" {
		t.Errorf("changes (-want +got):\n%s\n%s", diff, &p.Log)
	}
	if out.Recap != "1 node removed: master-1; host-1 did not answer, so it was not reset" {
		t.Errorf("recap %q", out.Recap)
	}
	p.ExpectFiles(true)
}

func TestRemovalOfAControlPlaneThatIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(p *kubespraytest.Planes)
		says   string
	}{
		"another member is sick":        {func(p *kubespraytest.Planes) { p.Members[2].Sick = true }, "only 1 of 2 members of etcd are healthy"},
		"it has the only member":        {func(p *kubespraytest.Planes) { p.Members = p.Members[:1] }, "it has the only member of etcd"},
		"etcd has lost its majority":    {func(p *kubespraytest.Planes) { p.Members[1].Sick, p.Members[2].Sick = true, true }, "switch on one of their machines"},
		"no control plane has a member": {func(p *kubespraytest.Planes) { p.Fixture.Etcd = nil }, "no Ready control plane has a member of etcd"},
	} {
		t.Run(name, func(t *testing.T) {
			p := kubespraytest.NewLeaving(t, false, 3, "master-1")
			tc.change(p)
			_, err := p.Run()
			if f := task.FailureOf(err); err == nil || f.Reason != contract.ReasonQuorumAtRisk || !strings.Contains(f.Message, tc.says) || !f.Reason.Transient() {
				t.Errorf("failure %+v", f)
			}
			p.ExpectDid()
		})
	}
}

// The task can be killed before each of its changes. The next attempt ends in the same state.
func TestRemovalOfAControlPlaneThatIsKilled(t *testing.T) {
	t.Parallel()
	for at := 1; ; at++ {
		p := kubespraytest.NewLeaving(t, false, 3, "master-1")
		p.KillAt, p.In.ProbeLimit = at, 500*time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		p.Kill = cancel
		_, err := kubespray.Run(ctx, p.In, p.Ports())
		cancel()
		if err == nil {
			if at < 20 {
				t.Errorf("only %d changes were interrupted", at-1)
			}
			return
		}
		before := fmt.Sprintf("before change %d, after %v", at, p.Did)
		p.KillAt = 0
		if _, err := p.Run(); err != nil {
			t.Errorf("killed %s: %v\n%s", before, err, &p.Log)
		}
		p.ExpectMemberAddresses("2", "3")
		p.ExpectFiles(true)
		if record := p.Now(); session.HasName(record.Nodes, "master-1") || len(record.Leaving) > 0 || !session.IsEmpty(p.Disks[0].Report) {
			t.Errorf("killed %s: record %+v, machine %+v", before, record, p.Disks[0].Report)
		}
		if t.Failed() {
			return
		}
	}
}

// The first control plane is lost and stays in the record. The last one can leave.
func TestRemoveControlPlaneWhileTheFirstIsLost(t *testing.T) {
	p := kubespraytest.NewLeaving(t, false, 5, "master-5")
	p.Lose()
	p.In.Request.Kept, p.In.HealthLimit = p.In.Request.Lost, 10*time.Second
	if _, err := p.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &p.Log)
	}
	for _, n := range p.Connected() {
		if n == "master-1" {
			t.Error("connected to the lost control plane")
		}
	}
	p.ExpectMemberAddresses("1", "2", "3", "4")
	record := p.Now()
	if got := session.Names(record.Nodes); !slices.Equal(got, []string{"master-2", "master-3", "master-4", "master-1", "worker-1", "worker-2"}) || len(etcdNames(record)) != 4 {
		t.Errorf("record %+v", record)
	}
	for i := 2; i <= 4; i++ {
		if got := p.Read(fmt.Sprintf("machine-%d/etc/kubernetes/admin.conf", i)); strings.Contains(got, "10.60.0.1:") {
			t.Errorf("admin.conf of master-%d names the lost control plane: %s", i, got)
		}
	}
}

// The machine of a control plane is not empty after its reset, so its node stays in the record. It is no member
// of etcd any more and does not count for the majority.
func TestAControlPlaneThatHasLeftEtcdIsNoMember(t *testing.T) {
	p := kubespraytest.NewLeaving(t, false, 3, "master-3")
	healthy := p.Disks[2].Before
	p.Disks[2].Before = func(script string, stderr io.Writer) int {
		if script == "clean" {
			fmt.Fprint(stderr, "mount /var/lib/kubelet/x is left")
			return 3
		}
		return healthy(script, stderr)
	}
	_, err := p.Run()
	if f := task.FailureOf(err); f.Reason != contract.ReasonResetIncomplete {
		t.Fatalf("failure %+v\n%s", f, &p.Log)
	}
	if record := p.Now(); !session.HasName(record.Nodes, "master-3") || !slices.Equal(etcdNames(record), []string{"etcd1", "etcd2"}) {
		t.Errorf("record %+v", record)
	}
	p.Disks[2].Before = healthy
	if _, err := p.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &p.Log)
	}
	if record := p.Now(); session.HasName(record.Nodes, "master-3") || !slices.Equal(etcdNames(record), []string{"etcd1", "etcd2"}) {
		t.Errorf("record after the next attempt %+v", record)
	}
}
