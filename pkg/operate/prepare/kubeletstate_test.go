package prepare

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
)

// stateRoot is a folder that the scripts use as root folder.
type stateRoot struct {
	t    *testing.T
	root string
}

func newStateRoot(t *testing.T, files map[string]string) stateRoot {
	t.Helper()
	r := stateRoot{t, t.TempDir()}
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(r.root+name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(r.root+name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func (r stateRoot) sh(script string) {
	r.t.Helper()
	for _, dir := range []string{"/etc/", "/var/lib/kubelet", "/run/systemd"} {
		script = strings.ReplaceAll(script, dir, r.root+dir)
	}
	command := exec.Command("sh", "-c", script)
	command.Env = []string{"PATH=" + r.root + "/bin:" + os.Getenv("PATH")}
	if out, err := command.CombinedOutput(); err != nil {
		r.t.Fatalf("%v: %s", err, out)
	}
}

func (r stateRoot) has(name string) bool {
	_, err := os.Stat(r.root + name)
	return err == nil
}

const (
	ofKubespray = "/etc/kubernetes/kubelet-config.yaml"
	ofKubeadm   = "/var/lib/kubelet/config.yaml"
	cpuState    = "/var/lib/kubelet/cpu_manager_state"
	memoryState = "/var/lib/kubelet/memory_manager_state"

	cpuNone      = `{"policyName":"none","defaultCpuSet":"","checksum":1353318690}`
	cpuStatic    = `{"policyName":"static","defaultCpuSet":"0,2-3","entries":{"a":{"b":"1"}},"checksum":1}`
	memoryNone   = `{"policyName":"None","machineState":{},"checksum":4065033048}`
	memoryStatic = "{\n \"policyName\": \"Static\", \"machineState\": {}, \"checksum\": 1}"
)

// The script runs as systemd runs it: the line of the drop-in without its quotes and escapes.
func TestStateOfAnotherPolicyIsRemoved(t *testing.T) {
	_, line, _ := strings.Cut(stateDropIn, "ExecStartPre=-/bin/sh -c '")
	script, rest, _ := strings.Cut(line, "'")
	if rest != "\n" || strings.ContainsAny(script, "\n\\") {
		t.Fatalf("systemd cannot read the drop-in:\n%s", stateDropIn)
	}
	script = strings.NewReplacer("$$", "$", "%%", "%").Replace(script)
	for name, tc := range map[string]struct {
		files             map[string]string
		keepCPU, keepMemo bool
	}{
		"static now":               {map[string]string{ofKubespray: "kind: KubeletConfiguration\ncpuManagerPolicy: static\n", cpuState: cpuNone, memoryState: memoryNone}, false, true},
		"static now, by Ansible":   {map[string]string{ofKubespray: "a: 1\ncpuManagerPolicy: \"static\" # x\nz: 1", cpuState: cpuNone, memoryState: memoryNone}, false, true},
		"static before":            {map[string]string{ofKubespray: "a: b\n", cpuState: cpuStatic, memoryState: memoryNone}, false, true},
		"none in words":            {map[string]string{ofKubespray: "cpuManagerPolicy: none", cpuState: cpuStatic, memoryState: memoryNone}, false, true},
		"static as before":         {map[string]string{ofKubespray: "cpuManagerPolicy: static\n", cpuState: cpuStatic, memoryState: memoryNone}, true, true},
		"the default":              {map[string]string{ofKubespray: "cpuManagerPolicyOptions: {}\ncpuManagerReconcilePeriod: 1s\n", cpuState: cpuNone, memoryState: memoryNone}, true, true},
		"memory":                   {map[string]string{ofKubespray: "memoryManagerPolicy: Static", cpuState: cpuNone, memoryState: memoryNone}, true, false},
		"memory before":            {map[string]string{ofKubespray: "a: b", cpuState: cpuNone, memoryState: memoryStatic}, true, false},
		"memory as before":         {map[string]string{ofKubespray: "memoryManagerPolicy: 'Static'", cpuState: cpuNone, memoryState: memoryStatic}, true, true},
		"kubespray has written it": {map[string]string{ofKubespray: "cpuManagerPolicy: static", ofKubeadm: "a: b", cpuState: cpuStatic, memoryState: memoryNone}, true, true},
		"kubeadm has written it":   {map[string]string{ofKubeadm: "cpuManagerPolicy: static", cpuState: cpuNone, memoryState: memoryNone}, false, true},
		"no configuration yet":     {map[string]string{cpuState: cpuStatic, memoryState: memoryStatic}, true, true},
		"no policy in the state":   {map[string]string{ofKubespray: "a: b", cpuState: "{", memoryState: ""}, true, true},
		"a flag of kubespray": {map[string]string{ofKubespray: "a: b", cpuState: cpuStatic, memoryState: memoryStatic,
			"/etc/kubernetes/kubelet.env": `KUBELET_ARGS="--config=x --cpu-manager-policy=static"`}, true, false},
		"another flag": {map[string]string{ofKubespray: "a: b", cpuState: cpuStatic, memoryState: memoryNone,
			"/var/lib/kubelet/kubeadm-flags.env": `KUBELET_KUBEADM_ARGS="--topology-manager-policy=none"`}, false, true},
		"drop-ins of the configuration": {map[string]string{ofKubespray: "a: b", cpuState: cpuStatic, memoryState: memoryStatic,
			"/etc/default/kubelet": `KUBELET_EXTRA_ARGS="--config-dir /etc/kubelet.d"`}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newStateRoot(t, tc.files)
			for range 2 {
				r.sh(script)
				if r.has(cpuState) != tc.keepCPU || r.has(memoryState) != tc.keepMemo {
					t.Fatalf("the states exist: CPU %t, memory %t", r.has(cpuState), r.has(memoryState))
				}
			}
		})
	}
	newStateRoot(t, map[string]string{ofKubespray: "cpuManagerPolicy: static"}).sh(script) // a new node has no state
}

// The node gets the drop-in if a variable names the policy, or if a kubelet has run there.
func TestDropInOfTheKubelet(t *testing.T) {
	static := map[string]json.RawMessage{cpuManagerPolicy: json.RawMessage(`"static"`)}
	systemctl := map[string]string{"/bin/systemctl": "#!/bin/sh\necho \"$*\" >>\"${0%/bin/*}/reloads\"\n", "/run/systemd/system/x": ""}
	for name, tc := range map[string]struct {
		request contract.Request
		state   bool
		want    bool
	}{
		"a new node":         {},
		"a present node":     {state: true, want: true},
		"plugin variables":   {request: contract.Request{Spec: contract.Spec{PluginVars: static}}, want: true},
		"the user's":         {request: contract.Request{Spec: contract.Spec{Vars: static}}, want: true},
		"another variable's": {request: contract.Request{Spec: contract.Spec{Vars: map[string]json.RawMessage{"kubelet_max_pods": json.RawMessage("1")}}}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newStateRoot(t, systemctl)
			if err := os.Chmod(r.root+"/bin/systemctl", 0o755); err != nil {
				t.Fatal(err)
			}
			if tc.state {
				r = newStateRoot(t, map[string]string{cpuState: cpuNone})
			}
			for range 2 {
				r.sh(keepStartingScript(tc.request))
			}
			text, _ := os.ReadFile(r.root + session.KubeletDropIn)
			if got := string(text) == stateDropIn; got != tc.want || len(text) > 0 != tc.want {
				t.Errorf("the drop-in is %q, want it: %t", text, tc.want)
			}
			if reloads, _ := os.ReadFile(r.root + "/reloads"); tc.want && !tc.state && !strings.Contains(string(reloads), "daemon-reload") {
				t.Errorf("systemd does not know the drop-in: %q", reloads)
			}
		})
	}
}

// TestTheDropInLeavesWithCPUManager: the removal of the plugin that sets the policy also removes the drop-in.
func TestTheDropInLeavesWithCPUManager(t *testing.T) {
	playbook, err := os.ReadFile("../../../plugins/cpu-manager/remove.yml")
	if err != nil {
		t.Fatal(err)
	}
	if want := "path: " + session.KubeletDropIn + "\n      state: absent\n"; !strings.Contains(string(playbook), want) {
		t.Errorf("remove.yml of cpu-manager does not have %q", want)
	}
}
