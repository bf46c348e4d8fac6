package kubespray_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/play"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/operate/session/sessiontest"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/ssh/sshtest"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
	"github.com/akraino-icn/bpa/pkg/tasks/playbook/acceleration"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

func TestRun(t *testing.T) {
	w := kubespraytest.New(t, 2)
	w.Progress.Data = map[string]string{"tasks.json": `{"cluster.yml 2":40,"reset.yml 3":3}`}
	out, err := w.Run()
	if err != nil {
		t.Fatalf("%v\n%s", err, &w.Log)
	}
	if want := "2 nodes: ok=18 changed=14 failed=0 unreachable=0 in 4s"; out.Recap != want {
		t.Errorf("recap %q, want %q", out.Recap, want)
	}
	var progress contract.Progress
	if err := json.Unmarshal([]byte(w.Progress.Data[contract.KeyProgress]), &progress); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(contract.Progress{Run: "edge-1-install-1", Percent: 100, Step: "The cluster is healthy"}, progress); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	if got := w.Progress.Data["tasks.json"]; got != `{"cluster.yml 2":11,"reset.yml 3":3}` {
		t.Errorf("tasks remembered: %s", got)
	}
	log := w.Log.String()
	for _, want := range []string{"master-1", "first contact", "PLAY [Prepare nodes]", "RECAP", "3 nodes and all system pods are Ready", out.Recap} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not contain %q:\n%s", want, log)
		}
	}
	if strings.Contains(log, "_event") || strings.Contains(log, "Skipping callback") {
		t.Errorf("the log has noise:\n%s", log)
	}
}

func TestWhatAnsibleIsGiven(t *testing.T) {
	w := kubespraytest.New(t, 1)
	scratch := w.In.ScratchDir
	files := map[string]os.FileMode{}
	w.Play = func(c process.Command, stdout, stderr io.Writer) int {
		for _, name := range []string{"key", "known_hosts", "inventory/hosts.ini", "inventory/group_vars/all/bpa.json"} {
			info, err := os.Stat(filepath.Join(scratch, name))
			if err != nil {
				t.Error(err)
				continue
			}
			files[name] = info.Mode().Perm()
		}
		return kubespraytest.Recorded("green", 0)(c, stdout, stderr)
	}
	for range 2 { // files of an earlier run may be in the scratch folder
		if _, err := w.Run(); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]os.FileMode{"key": 0o400, "known_hosts": 0o600, "inventory/hosts.ini": 0o600, "inventory/group_vars/all/bpa.json": 0o600}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	c := w.Ran[0]
	wantArgs := []string{"ansible-playbook", "-b", "-i", scratch + "/inventory/hosts.ini", "--private-key", scratch + "/key", "--forks", "5", "-e", "@" + scratch + "/extra-vars.json", "cluster.yml"}
	if diff := cmp.Diff(wantArgs, c.Args); diff != "" || c.Dir != w.In.PlaybooksDir {
		t.Errorf("in %s, arguments (-want +got):\n%s", c.Dir, diff)
	}
	for _, env := range []string{"ANSIBLE_STDOUT_CALLBACK=ansible.posix.jsonl", "ANSIBLE_CALLBACKS_ENABLED=", "ANSIBLE_HOST_KEY_CHECKING=True", "HOME=" + scratch} {
		if !slices.Contains(c.Env, env) {
			t.Errorf("environment lacks %s", env)
		}
	}
	var extra struct {
		SSHArgs string `json:"ansible_ssh_args"`
	}
	raw, err := os.ReadFile(scratch + "/extra-vars.json")
	if err != nil || json.Unmarshal(raw, &extra) != nil {
		t.Fatal(err)
	}
	for _, option := range []string{"StrictHostKeyChecking=yes", "UserKnownHostsFile=" + scratch + "/known_hosts", "GlobalKnownHostsFile=/dev/null"} {
		if !strings.Contains(extra.SSHArgs, option) {
			t.Errorf("ssh lacks the option %s: %s", option, extra.SSHArgs)
		}
	}
	known, err := os.ReadFile(scratch + "/known_hosts")
	if err != nil || strings.Count(string(known), "ssh-ed25519") != 2 {
		t.Errorf("known_hosts %v:\n%s", err, known)
	}
}

// OpenSSH rejects a key if its last line has no line end. This happens when a user pastes the key
// into a Secret.
func TestKeyEndsItsLine(t *testing.T) {
	in := kubespraytest.New(t, 0).In
	in.PrivateKey = bytes.TrimSpace(in.PrivateKey)
	f, err := play.Prepare(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	if key, err := os.ReadFile(f.Key); err != nil || !bytes.Equal(key, append(in.PrivateKey, '\n')) {
		t.Errorf("%v: the key ends in %q", err, key[max(0, len(key)-5):])
	}
}

// OpenSSH rejects a key with Windows line ends and reports "error in libcrypto". Go's parser
// accepts such a key.
func TestKeyHasLineEndsOfUnix(t *testing.T) {
	in := kubespraytest.New(t, 0).In
	unix := append(bytes.TrimSpace(in.PrivateKey), '\n')
	in.PrivateKey = bytes.ReplaceAll(unix, []byte("\n"), []byte("\r\n"))
	f, err := play.Prepare(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	if key, err := os.ReadFile(f.Key); err != nil || !bytes.Equal(key, unix) {
		t.Errorf("%v: the key has %d carriage returns", err, bytes.Count(key, []byte("\r")))
	}
	if keygen, err := exec.LookPath("ssh-keygen"); err == nil {
		if said, err := exec.CommandContext(t.Context(), keygen, "-y", "-P", "", "-f", f.Key).CombinedOutput(); err != nil {
			t.Errorf("OpenSSH rejects the key: %v: %s", err, said)
		}
	}
}

// Kubespray's tables of checksums are passed as extra variables, because a variable of the
// inventory cannot override them. No other variable of the inventory is passed as an extra
// variable.
func TestTablesOfChecksumsAreExtraVariables(t *testing.T) {
	in := kubespraytest.New(t, 0).In
	in.Request.SwitchedOff = []string{acceleration.Variables}
	in.GroupVars = []byte(`{"kubelet_checksums": {"amd64": {"1.35.99": "x"}}, "runc_checksums": {}, "ansible_ssh_args": "-o StrictHostKeyChecking=no"}`)
	f, err := play.Prepare(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(f.ExtraVars)
	var extra map[string]any
	if err != nil || json.Unmarshal(raw, &extra) != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	want := map[string]any{"ansible_ssh_args": f.SSHArgs(), "kubelet_checksums": map[string]any{"amd64": map[string]any{"1.35.99": "x"}}}
	if diff := cmp.Diff(want, extra); diff != "" {
		t.Errorf("extra variables (-want +got):\n%s", diff)
	}
}

// The variables that accelerate kubespray are extra variables of the run, so the inventory and its
// digest do not depend on them. Those of the operation override them.
func TestAccelerationIsNoPartOfTheInventory(t *testing.T) {
	in := kubespraytest.New(t, 0).In
	in.ExtraVars = map[string]any{"etcd_retries": 3}
	for _, test := range []struct {
		off        []string
		pulls      any
		strategies bool
	}{{nil, false, true}, {[]string{acceleration.All}, nil, false}} {
		in.Request.SwitchedOff = test.off
		f, err := play.Prepare(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(f.ExtraVars)
		var extra map[string]any
		if err != nil || json.Unmarshal(raw, &extra) != nil || extra["download_container"] != test.pulls || extra["etcd_retries"] != 3. {
			t.Errorf("without %v, extra variables %s, %v", test.off, raw, err)
		}
		env := strings.Join(f.Env(in.PlaybooksDir), "\n")
		if got := strings.Contains(env, "BPA_ACCELERATION="); got != test.strategies {
			t.Errorf("without %v, the environment is\n%s", test.off, env)
		}
		vars, err := os.ReadFile(filepath.Join(in.ScratchDir, "inventory/group_vars/all/bpa.json"))
		if err != nil || !bytes.Equal(vars, in.GroupVars) {
			t.Errorf("without %v, the inventory has the variables %s, %v", test.off, vars, err)
		}
	}
}

func TestRefused(t *testing.T) {
	for name, spoil := range map[string]func(*session.Input){
		"no nodes":             func(in *session.Input) { in.Nodes = nil },
		"no control plane":     func(in *session.Input) { in.Nodes[0].Roles = []string{contract.RoleWorker} },
		"no address":           func(in *session.Input) { in.Nodes[0].Address = "" },
		"option as a playbook": func(in *session.Input) { in.Playbook = "--version.yml" },
		"playbook elsewhere":   func(in *session.Input) { in.Playbook = "../cluster.yml" },
		"playbook missing":     func(in *session.Input) { in.Playbook = "scale.yml" },
		"no key":               func(in *session.Input) { in.PrivateKey = []byte("nonsense") },
	} {
		t.Run(name, func(t *testing.T) {
			w := kubespraytest.New(t, 0)
			spoil(&w.In)
			_, err := w.Run()
			if f := task.FailureOf(err); f.Reason != contract.ReasonInvalidRequest || len(w.Ran) > 0 || len(w.Servers[0].Commands()) > 0 {
				t.Errorf("failure %+v after %d playbooks and %v", f, len(w.Ran), w.Servers[0].Commands())
			}
		})
	}
}

func TestPreflightFailures(t *testing.T) {
	stranger, strangerFile := sshtest.NewKey(t)
	for _, tc := range []struct {
		name  string
		spoil func(*kubespraytest.Fixture)
		want  contract.Failure
		says  []string
	}{
		{"a node is down", func(w *kubespraytest.Fixture) { w.Servers[1].Stop() },
			contract.Failure{Reason: contract.ReasonHostUnreachable, Host: "worker-1"}, []string{"host-2", "127.0.0.2", "connection refused"}},
		{"two nodes are down", func(w *kubespraytest.Fixture) { w.Servers[1].Stop(); w.Servers[2].Stop() },
			contract.Failure{Reason: contract.ReasonHostUnreachable, Host: "worker-1", Others: []string{"worker-2"}}, []string{"1 more node failed too: worker-2."}},
		{"the key is refused", func(w *kubespraytest.Fixture) { w.In.PrivateKey = strangerFile },
			contract.Failure{Reason: contract.ReasonSSHDenied, Host: "master-1", Others: []string{"worker-1", "worker-2"}}, []string{"user root", "Add the public key"}},
		{"the user cannot be root", func(w *kubespraytest.Fixture) { w.In.Request.SSHUser = "debian" },
			contract.Failure{Reason: contract.ReasonSSHDenied, Host: "master-1", Others: []string{"worker-1", "worker-2"}}, []string{"user debian"}},
		{"a host shows another key, another is down", func(w *kubespraytest.Fixture) {
			w.Pin("uid-3", stranger.PublicKey())
			w.Servers[0].Stop()
		}, contract.Failure{Reason: contract.ReasonHostKeyChanged, Host: "worker-2"},
			[]string{ssh.Fingerprint(stranger.PublicKey()), "kubectl -n site edit configmap edge-1-known-hosts", `"host-3"`, "1 more node failed too: master-1."}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := kubespraytest.New(t, 2)
			tc.spoil(w)
			_, err := w.Run()
			got := task.FailureOf(err)
			for _, want := range tc.says {
				if !strings.Contains(got.Message, want) {
					t.Errorf("message %q does not contain %q", got.Message, want)
				}
			}
			tc.want.Step, got.Message = "connect by SSH", ""
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("failure (-want +got):\n%s", diff)
			}
			if len(w.Ran) != 0 {
				t.Error("the playbook ran nevertheless")
			}
		})
	}
}

func TestReplacedMachineIsPinnedAnew(t *testing.T) {
	w := kubespraytest.New(t, 1)
	if _, err := w.Run(); err != nil {
		t.Fatal(err)
	}
	fresh, _ := sshtest.NewKey(t)
	w.Servers[1].Rekey(w.User.PublicKey(), fresh)
	if _, err := w.Run(); task.FailureOf(err).Reason != contract.ReasonHostKeyChanged {
		t.Fatalf("the same machine with another key: %v", err)
	}
	w.In.Nodes[1].HostUID = "uid-of-a-new-machine"
	if _, err := w.Run(); err != nil {
		t.Fatalf("another machine: %v", err)
	}
	pins, err := ssh.ParsePins(w.KnownHosts.Data[contract.KeyKnownHosts])
	if err != nil || len(pins) != 2 || ssh.Fingerprint(pins.Of("uid-of-a-new-machine")) != ssh.Fingerprint(fresh.PublicKey()) {
		t.Errorf("pins %v, %v", pins, err)
	}
}

func TestPlaybookFailures(t *testing.T) {
	const killed = "ansible-playbook cluster.yml was killed, most likely for lack of memory: raise the memory limit in Task kubespray"
	dies := func(status int, says string) func(process.Command, io.Writer, io.Writer) int {
		return func(_ process.Command, _, stderr io.Writer) int {
			fmt.Fprintln(stderr, says)
			return status
		}
	}
	for _, tc := range []struct {
		name string
		play func(process.Command, io.Writer, io.Writer) int
		want contract.Failure
	}{
		{"a task fails", kubespraytest.Recorded("failed", 2), contract.Failure{
			Reason: contract.ReasonPlaybookFailed, Host: "worker-1", Step: "kubeadm | Join", Accelerated: true,
			Message: "non-zero return code: [preflight] Some fatal errors occurred\nerror execution phase preflight, token [hidden] (and 1 more host failed)"}},
		{"a node goes away", kubespraytest.Recorded("gone", 4), contract.Failure{
			Reason: contract.ReasonHostUnreachable, Host: "worker-1", Step: "Ping",
			Message: "Failed to connect to the host via ssh: ssh: connect to host 127.0.0.1 port 1: Connection refused (and 1 more host failed)"}},
		{"the playbook is broken", func(_ process.Command, _, stderr io.Writer) int {
			fmt.Fprint(stderr, "ERROR! couldn't resolve module\npassword=hunter22")
			return 4
		}, contract.Failure{
			Reason: contract.ReasonPlaybookFailed, Accelerated: true,
			Message: "ansible-playbook cluster.yml ended with exit status 4, although no task failed: ERROR! couldn't resolve module\npassword=[hidden]"}},
		{"killed in the middle", dies(137, ""), contract.Failure{Reason: contract.ReasonOutOfMemory, Accelerated: true, Message: killed}},
		{"a worker of it is killed", dies(250, "ERROR! A worker was found in a dead state"), contract.Failure{Reason: contract.ReasonOutOfMemory, Accelerated: true, Message: killed}},
		{"ended by another signal", dies(139, ""), contract.Failure{
			Reason: contract.ReasonPlaybookFailed, Accelerated: true,
			Message: "ansible-playbook cluster.yml ended by a signal (segmentation fault), although no task failed: it wrote nothing to stderr"}},
		{"no recap", func(process.Command, io.Writer, io.Writer) int { return 0 }, contract.Failure{
			Reason: contract.ReasonPlaybookFailed, Accelerated: true, Message: "ansible-playbook cluster.yml ended without a recap"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := kubespraytest.New(t, 1)
			w.Play = tc.play
			_, err := w.Run()
			if diff := cmp.Diff(tc.want, task.FailureOf(err)); diff != "" {
				t.Errorf("failure (-want +got):\n%s", diff)
			}
			for _, secret := range []string{"0123456789abcdef", "hunter22"} {
				if strings.Contains(w.Log.String(), secret) {
					t.Errorf("the log shows a secret:\n%s", &w.Log)
				}
			}
		})
	}
}

func TestClusterGetsHealthy(t *testing.T) {
	w := kubespraytest.New(t, 1)
	master, worker := sessiontest.NodeJSON("master-1", "True", ""), sessiontest.NodeJSON("worker-1", "True", "")
	answers := []string{
		"not JSON",
		sessiontest.List(master),
		sessiontest.List(master, sessiontest.NodeJSON("worker-1", "False", "KubeletNotReady")),
		sessiontest.List(master, worker, sessiontest.PodJSON("coredns-1", "worker-1", "False", "CrashLoopBackOff")),
		sessiontest.List(master, worker, sessiontest.PodJSON("coredns-1", "worker-1", "True", "")),
	}
	var waited []string
	asked := 0
	w.Kubectl = func() string { asked++; return answers[min(asked, len(answers))-1] }
	w.Waited = func(command string) { waited = append(waited, command[strings.Index(command, "kubectl"):]) }
	if _, err := w.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &w.Log)
	}
	kubeconfig := "kubectl --kubeconfig /etc/kubernetes/admin.conf "
	want := []string{
		kubeconfig + "wait --for=create node/worker-1 --timeout=15s",
		kubeconfig + "wait --for=condition=Ready node/worker-1 --timeout=15s",
		kubeconfig + "--namespace kube-system wait --for=condition=Ready pod/coredns-1 --timeout=15s",
	}
	if diff := cmp.Diff(want, waited); diff != "" {
		t.Errorf("waited for (-want +got):\n%s\n%s", diff, &w.Log)
	}
}

func TestClusterStaysSick(t *testing.T) {
	t.Parallel()
	w := kubespraytest.New(t, 1)
	w.In.HealthLimit = 1500 * time.Millisecond
	w.Kubectl = func() string {
		return sessiontest.List(sessiontest.NodeJSON("master-1", "True", ""), sessiontest.NodeJSON("worker-1", "True", ""), sessiontest.PodJSON("coredns-1", "worker-1", "False", "CrashLoopBackOff"))
	}
	_, err := w.Run()
	want := contract.Failure{
		Reason: contract.ReasonClusterUnhealthy, Host: "worker-1", Step: "check the cluster",
		Message: "the playbook succeeded, but the cluster is still not healthy after 1.5s: pod kube-system/coredns-1 on worker-1 is not Ready: CrashLoopBackOff: again and again",
	}
	if diff := cmp.Diff(want, task.FailureOf(err)); diff != "" {
		t.Errorf("failure (-want +got):\n%s", diff)
	}
}

// If the connection breaks or hangs while the cluster starts, the task connects again.
func TestHealthCheckReconnects(t *testing.T) {
	for name, trouble := range map[string]func(w *kubespraytest.Fixture){
		"it breaks": func(w *kubespraytest.Fixture) { w.Servers[0].Disconnect() },
		"it stalls": func(w *kubespraytest.Fixture) { <-w.T.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			w := kubespraytest.New(t, 1)
			w.In.ProbeLimit = 300 * time.Millisecond
			var asked atomic.Int32
			w.Kubectl = func() string {
				if asked.Add(1) == 1 {
					trouble(w)
				}
				return kubespraytest.Healthy(w.In.Nodes...)
			}
			if _, err := w.Run(); err != nil || asked.Load() != 2 {
				t.Errorf("%v after %d questions\n%s", err, asked.Load(), &w.Log)
			}
			if !strings.Contains(w.Log.String(), "no control plane answers") {
				t.Errorf("the log does not report the failed query:\n%s", &w.Log)
			}
		})
	}
}

func TestAPIServerDown(t *testing.T) {
	w := kubespraytest.New(t, 0)
	w.Progress.Err = errors.New("etcd is full")
	if _, err := w.Run(); err != nil {
		t.Errorf("progress that cannot be stored fails the run: %v", err)
	}
	if got := strings.Count(w.Log.String(), "etcd is full"); got != 1 {
		t.Errorf("the log reports %d times that the progress cannot be stored, want once", got)
	}
	w = kubespraytest.New(t, 0)
	w.KnownHosts.Err = apierrors.NewServiceUnavailable("etcd is full")
	if _, err := w.Run(); task.FailureOf(err).Reason != contract.ReasonAPIUnavailable || len(w.Ran) != 0 {
		t.Errorf("without the pinned keys: %v, %d playbooks", err, len(w.Ran))
	}
}
