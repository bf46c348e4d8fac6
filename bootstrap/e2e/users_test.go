//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/akraino-icn/bpa/bootstrap/internal/config"
)

// TestComponentsRunAsUsersOfTheirOwn asks the kernel as whom each component runs, and tries to read each key as each user.
func TestComponentsRunAsUsersOfTheirOwn(t *testing.T) {
	allReady(t)
	_, running := status(t)
	for _, c := range config.Plan(state).Components {
		uid := 0
		if c.User != "" {
			uid, _ = ids(t, c.User)
		}
		for _, r := range running {
			if r.Name != c.Name {
				continue
			}
			if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.PID)); err != nil || !strings.Contains(string(text), fmt.Sprintf("\nUid:\t%[1]d\t%[1]d\t%[1]d\t%[1]d\n", uid)) {
				t.Errorf("%s does not run as %q with the id %d (%v)", c.Name, c.User, uid, err)
			}
		}
		if c.User == "" {
			continue
		}
		var want []string
		for _, path := range append(slices.Clone(c.Owns), c.Reads...) {
			if filepath.Dir(path) == state.PKI() {
				want = append(want, filepath.Base(path))
			}
		}
		slices.Sort(want)
		if got := readable(t, c.User); !slices.Equal(got, want) {
			t.Errorf("%s reads the keys %v, want %v", c.User, got, want)
		}
	}
}

// readable returns the keys in the folder of keys that a user can read, and what else the user can read that only root or another
// component may.
func readable(t *testing.T, name string) []string {
	t.Helper()
	uid, gid := ids(t, name)
	script := fmt.Sprintf(`cd %s && for f in *.key *.kubeconfig %s; do ! cat "$f" >/dev/null 2>&1 || echo "$f"; done
for f in ../kubeconfig ../run/plan.json ../etc/docker/config.json ../log/kubelet.log; do ! cat "$f" >/dev/null 2>&1 || echo "$f"; done
for d in ../data/etcd:bpa-etcd ../log/audit:bpa-apiserver ../data/containerd:root ../data/kubelet:root; do [ "${d#*:}" = %s ] || ! ls "${d%%:*}" >/dev/null 2>&1 || echo "$d"; done`,
		state.PKI(), "encryption.yaml", name)
	names, err := os.ReadDir(state.PKI())
	if err != nil || len(names) < 20 {
		t.Fatalf("%d keys (%v)", len(names), err)
	}
	// The user cannot list the folder, so the script gets the names.
	var keys []string
	for _, n := range names {
		if ext := filepath.Ext(n.Name()); ext == ".key" || ext == ".kubeconfig" {
			keys = append(keys, n.Name())
		}
	}
	cmd := exec.Command("bash", "-c", strings.Replace(script, "*.key *.kubeconfig", strings.Join(keys, " "), 1))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	cmd.Dir = "/"
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got := strings.Fields(string(out))
	slices.Sort(got)
	return got
}

func ids(t *testing.T, name string) (uid, gid int) {
	t.Helper()
	found, err := user.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	uid, _ = strconv.Atoi(found.Uid)
	gid, _ = strconv.Atoi(found.Gid)
	return uid, gid
}

// TestAMachineWhoseFilesBelongToRootIsTakenOver: so do those of a machine whose components ran as root, and of one that was restored.
func TestAMachineWhoseFilesBelongToRootIsTakenOver(t *testing.T) {
	kubectl(t, "delete", "configmap", "taken-over", "--ignore-not-found")
	kubectl(t, "create", "configmap", "taken-over", "--from-literal=written=before")
	machine(t, "stop")
	for _, dir := range []string{state.PKI(), state.Data("etcd"), state.DepotDir(), state.Log()} {
		if out, err := exec.Command("chown", "-R", "0:0", dir).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if out, err := exec.Command("find", dir, "-type", "f", "(", "-name", "*.key", "-o", "-name", "*.kubeconfig", "-o", "-name", "encryption.yaml", ")", "-exec", "chmod", "600", "{}", "+").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	machine(t, "start")
	if got := kubectl(t, "get", "configmap", "taken-over", "-o", "jsonpath={.data.written}"); got != "before" {
		t.Errorf("the object written before contains %q, want \"before\"", got)
	}
	TestComponentsRunAsUsersOfTheirOwn(t)
	checkNewPod(t)
}
