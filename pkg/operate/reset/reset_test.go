package reset_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine"
	"github.com/akraino-icn/bpa/pkg/ssh/sshtest"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// newReset returns a fixture for the reset of a cluster with one control plane and some workers. An
// inventory can be rendered for its nodes, because their addresses are not those of a loopback.
func newReset(t *testing.T, workers int) *kubespraytest.Retry {
	r := kubespraytest.NewRetry(t, 1, workers)
	states := contract.HostStates{}
	for i := range r.In.Nodes {
		r.In.Nodes[i].Address = strings.Replace(r.In.Nodes[i].Address, "127.0.0.", "10.60.0.", 1)
		states[r.In.Nodes[i].HostUID] = contract.HostUsed
	}
	text, err := json.Marshal(states)
	if err != nil {
		t.Fatal(err)
	}
	r.Record(string(text))
	request := &r.In.Request
	request.KubernetesVersion, request.NetworkPlugin = "1.35.4", "calico"
	request.PodSubnet, request.ServiceSubnet = "10.233.64.0/18", "10.233.0.0/18"
	r.In.Playbook, r.In.HostsINI, r.In.GroupVars, r.In.BootLimit = contract.PlaybookReset, nil, nil, 50*time.Millisecond
	return r
}

func TestReset(t *testing.T) {
	r := newReset(t, 2)
	r.In.Request.DepotCA, r.In.Request.DepotURL, r.In.Request.OperatingSystem = kubespraytest.DepotCA, "http://10.60.0.99:5000", "ubuntu-24.04"
	r.In.Request.Vars = map[string]json.RawMessage{"flush_iptables": json.RawMessage("true"), "http_proxy": json.RawMessage(`"http://proxy:1"`)}
	r.Disks[2].Report = machine.Report{}
	for i, d := range r.Disks {
		d.Before = func(script string, _ io.Writer) int {
			if states, _ := r.States(); script != "inspect" && states[r.In.Nodes[i].HostUID] != contract.HostUsed {
				t.Errorf("%s runs on machine %d with the record %v", script, i+1, states)
			}
			return 0
		}
	}
	var saved bool
	r.Play = func(c process.Command, stdout, stderr io.Writer) int {
		saved = slices.Equal(r.Disks[0].Changes(), []string{"save"}) && slices.Equal(r.Disks[1].Changes(), []string{"save"})
		ini, err := os.ReadFile(r.In.ScratchDir + "/inventory/hosts.ini")
		if err != nil || !strings.Contains(string(ini), "worker-2 ansible_host=10.60.0.3") {
			t.Errorf("%v: the inventory lacks a node:\n%s", err, ini)
		}
		return kubespraytest.Recorded("green", 0)(c, stdout, stderr)
	}
	out, err := r.Run()
	if err != nil || out.Recap != "3 hosts reset" {
		t.Fatalf("recap %q, %v\n%s", out.Recap, err, &r.Log)
	}
	r.ExpectReset("master-1", "worker-1")
	r.ExpectStates(contract.HostStates{"uid-1": "clean", "uid-2": "clean", "uid-3": "clean"})
	if want := []string{"save", "clean"}; !saved || !slices.Equal(r.Disks[1].Changes(), want) || len(r.Disks[2].Changes()) > 0 {
		t.Errorf("saved before the playbook: %t; scripts %v and %v", saved, r.Disks[1].Changes(), r.Disks[2].Changes())
	}
	var extra map[string]any
	raw, err := os.ReadFile(r.In.ScratchDir + "/extra-vars.json")
	if err != nil || json.Unmarshal(raw, &extra) != nil {
		t.Fatal(err)
	}
	delete(extra, "ansible_ssh_args")
	want := map[string]any{"reset_confirmation": true, "flush_iptables": false, "reset_restart_network": false,
		"no_proxy": "10.60.0.1,10.60.0.2,10.60.0.3,10.60.0.99,127.0.0.1,localhost"}
	if diff := cmp.Diff(want, extra); diff != "" {
		t.Errorf("extra variables (-want +got):\n%s", diff)
	}
	var progress contract.Progress
	if err := json.Unmarshal([]byte(r.Progress.Data[contract.KeyProgress]), &progress); err != nil || progress.Percent != 100 {
		t.Errorf("progress %+v, %v", progress, err)
	}
	if r.Disks[0].Report.User != (contract.User{}) {
		t.Error("the mark was written again")
	}
}

// Hosts that are dead or are not the right machine are left alone and stay used. The others are reset.
func TestResetLeavesOut(t *testing.T) {
	stranger, _ := sshtest.NewKey(t)
	for name, tc := range map[string]struct {
		spoil func(r *kubespraytest.Retry)
		why   string
	}{
		"a dead host": {func(r *kubespraytest.Retry) { r.Servers[2].Stop() }, "did not answer"},
		"another machine": {func(r *kubespraytest.Retry) {
			r.Answers(map[int]func(io.Writer) int{2: kubespraytest.Says("name db-7", "card eno1 aa:bb:cc:00:00:01")})
		}, "is another machine"},
		"another host key":   {func(r *kubespraytest.Retry) { r.Pin("uid-3", stranger.PublicKey()) }, "has another SSH host key"},
		"another owner":      {func(r *kubespraytest.Retry) { r.Disks[2].With("uid-of-edge-9") }, "has the cluster of another Provisioning"},
		"an unknown address": {func(r *kubespraytest.Retry) { r.In.Nodes[2].Address = "" }, "has no known address"},
		"a machine unproven": {func(r *kubespraytest.Retry) { r.In.Nodes[2].MACs = nil; r.Disks[2].With("") }, "cannot be identified: none of its MAC addresses is known"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReset(t, 2)
			tc.spoil(r)
			out, err := r.Run()
			if want := "2 of 3 hosts reset; host-3 " + tc.why; err != nil || out.Recap != want {
				t.Fatalf("recap %q, want %q; %v\n%s", out.Recap, want, err, &r.Log)
			}
			if len(r.Disks[2].Changes()) > 0 {
				t.Errorf("changed by %v", r.Disks[2].Changes())
			}
			r.ExpectStates(contract.HostStates{"uid-1": "clean", "uid-2": "clean", "uid-3": "used"})
			cleaned, limited := r.Reset()
			if slices.Contains(append(cleaned, limited...), "worker-2") {
				t.Errorf("cleaned %v, reset.yml on %v", cleaned, limited)
			}
		})
	}
}

// If no host of several answers, the network is the likely cause, and no host may be released. One
// host can be dead.
func TestResetWithoutALivingHost(t *testing.T) {
	for name, spoil := range map[string]func(r *kubespraytest.Retry){
		"all silent":               func(*kubespraytest.Retry) {},
		"the first has no address": func(r *kubespraytest.Retry) { r.In.Nodes[0].Address = "" },
		"the last has no address":  func(r *kubespraytest.Retry) { r.In.Nodes[2].Address = "" },
	} {
		t.Run(name, func(t *testing.T) {
			r := newReset(t, 2)
			spoil(r)
			for _, s := range r.Servers {
				s.Stop()
			}
			out, err := r.Run()
			if err == nil {
				t.Fatalf("no error; recap %q", out.Recap)
			}
			f := task.FailureOf(err)
			if f.Reason != contract.ReasonHostUnreachable || !f.Reason.Transient() || len(f.Others) == 0 || len(r.Ran) > 0 {
				t.Errorf("failure %+v, %d playbooks", f, len(r.Ran))
			}
			for _, want := range []string{"no host answers, so none was reset", "spec.ssh", "spec.deletionPolicy to Retain"} {
				if !strings.Contains(f.Message, want) {
					t.Errorf("message %q does not contain %q", f.Message, want)
				}
			}
			r.ExpectStates(contract.HostStates{"uid-1": "used", "uid-2": "used", "uid-3": "used"})
		})
	}
	r := newReset(t, 0)
	r.Servers[0].Stop()
	out, err := r.Run()
	if want := "0 of 1 host reset; host-1 did not answer"; err != nil || out.Recap != want || len(r.Ran) > 0 {
		t.Errorf("recap %q, %d playbooks, %v", out.Recap, len(r.Ran), err)
	}
	r.ExpectStates(contract.HostStates{"uid-1": "used"})
}

// The clean-up must be able to finish without the playbook.
func TestResetWithoutThePlaybook(t *testing.T) {
	for name, spoil := range map[string]func(r *kubespraytest.Retry){
		"it fails":                 func(r *kubespraytest.Retry) { r.Play = kubespraytest.Recorded("failed", 2) },
		"no control plane is left": func(r *kubespraytest.Retry) { r.In.Nodes[0].Roles = []string{contract.RoleWorker} },
	} {
		t.Run(name, func(t *testing.T) {
			r := newReset(t, 1)
			spoil(r)
			out, err := r.Run()
			if err != nil || out.Recap != "2 hosts reset" || !strings.Contains(r.Log.String(), "The machines are cleaned without it") {
				t.Errorf("recap %q, %v\n%s", out.Recap, err, &r.Log)
			}
			r.ExpectStates(contract.HostStates{"uid-1": "clean", "uid-2": "clean"})
		})
	}
}

func TestResetThatIsIncomplete(t *testing.T) {
	_, strangerFile := sshtest.NewKey(t)
	fails := func(on string) func(string, io.Writer) int {
		return func(script string, stderr io.Writer) int {
			if script != on {
				return 0
			}
			fmt.Fprint(stderr, "mount /var/lib/kubelet is busy")
			return 1
		}
	}
	for name, tc := range map[string]struct {
		spoil  func(r *kubespraytest.Retry)
		reason contract.Reason
		states contract.HostStates
	}{
		"a part is left":            {func(r *kubespraytest.Retry) { r.Disks[1].Before = fails("clean") }, contract.ReasonResetIncomplete, contract.HostStates{"uid-1": "clean", "uid-2": "used"}},
		"the rules cannot be saved": {func(r *kubespraytest.Retry) { r.Disks[1].Before = fails("save") }, contract.ReasonResetIncomplete, contract.HostStates{"uid-1": "clean", "uid-2": "used"}},
		"it cannot be inspected":    {func(r *kubespraytest.Retry) { r.Disks[1].Before = fails("inspect") }, contract.ReasonResetIncomplete, contract.HostStates{"uid-1": "clean", "uid-2": "used"}},
		"the login is rejected":     {func(r *kubespraytest.Retry) { r.In.PrivateKey = strangerFile }, contract.ReasonSSHDenied, contract.HostStates{"uid-1": "used", "uid-2": "used"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReset(t, 1)
			tc.spoil(r)
			_, err := r.Run()
			f := task.FailureOf(err)
			if f.Reason != tc.reason || tc.reason == contract.ReasonResetIncomplete && (f.Host != "worker-1" || !strings.Contains(f.Message, "is busy")) {
				t.Errorf("failure %+v", f)
			}
			r.ExpectStates(tc.states)
			if name == "the rules cannot be saved" && slices.Contains(r.Disks[1].Changes(), "clean") {
				t.Error("the machine was cleaned, although its rules are not saved")
			}
		})
	}
}

// A task that is killed in the middle leaves the hosts used. The next run finishes the reset.
func TestResetThatIsKilled(t *testing.T) {
	for _, at := range []string{"save", "playbook", "clean"} {
		t.Run(at, func(t *testing.T) {
			r := newReset(t, 1)
			ctx, cancel := context.WithCancel(t.Context())
			for _, d := range r.Disks {
				d.Before = func(script string, _ io.Writer) int {
					if script == at {
						cancel()
						return 1
					}
					return 0
				}
			}
			play := r.Play
			r.Play = func(c process.Command, stdout, stderr io.Writer) int {
				if at == "playbook" {
					cancel()
					return 137
				}
				return play(c, stdout, stderr)
			}
			if _, err := kubespray.Run(ctx, r.In, r.Ports()); !errors.Is(err, context.Canceled) {
				t.Errorf("Run: %v", err)
			}
			r.ExpectStates(contract.HostStates{"uid-1": "used", "uid-2": "used"})
			if cleaned, _ := r.Reset(); at != "clean" && len(cleaned) > 0 {
				t.Errorf("cleaned %v after the end of the task", cleaned)
			}
			for _, d := range r.Disks {
				d.Before = nil
			}
			r.Play = play
			if out, err := r.Run(); err != nil || out.Recap != "2 hosts reset" {
				t.Errorf("second run: recap %q, %v\n%s", out.Recap, err, &r.Log)
			}
			r.ExpectStates(contract.HostStates{"uid-1": "clean", "uid-2": "clean"})
		})
	}
}

func TestResetOfHostsWithoutAnAddressIsNotAnInstallation(t *testing.T) {
	r := newReset(t, 0)
	r.In.Playbook, r.In.Nodes[0].Address = contract.PlaybookInstall, ""
	if _, err := r.Run(); task.FailureOf(err).Reason != contract.ReasonInvalidRequest {
		t.Errorf("Run: %v", err)
	}
}
