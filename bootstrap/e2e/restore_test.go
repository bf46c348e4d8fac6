//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestABackupBringsADestroyedMachineBack: the objects are as they were, also the encrypted ones, and no controller has
// changed a host before a person attaches it.
func TestABackupBringsADestroyedMachineBack(t *testing.T) {
	folder, key := t.TempDir(), filepath.Join(t.TempDir(), "machine.key")
	machine(t, "backup", "configure", "--recipient", line(t, "age1", "backup", "key", key), "--to", folder, "--same-disk")
	kubectl(t, "create", "configmap", "restored", "--from-literal=written=before")
	kubectl(t, "create", "secret", "generic", "restored", "--from-literal=written=before")
	host := filepath.Join(folder, "host.yaml")
	if err := os.WriteFile(host, []byte("{apiVersion: metal3.io/v1alpha1, kind: BareMetalHost, metadata: {name: rack-1, namespace: default}, spec: {online: true}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl(t, "apply", "-f", host)
	file := line(t, folder, "backup", "--with-depot")
	kubectl(t, "delete", "configmap", "restored")

	id, err := state.ID()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := tryMachine(t, "restore", file, "--identity", key); err == nil || !strings.Contains(out, "run `machine down` first") {
		t.Errorf("restore on a running machine: %v", err)
	}
	machine(t, "destroy", "--yes", id)
	machine(t, "restore", file, "--identity", key)
	machine(t, "up", "--project=false", "--no-backup")
	if now, err := state.ID(); err != nil || now != id {
		t.Errorf("the machine is %s (%v), want %s", now, err, id)
	}
	for _, object := range []string{"configmap", "secret"} {
		if got := kubectl(t, "get", object, "restored", "-o", "jsonpath={.data.written}"); got != "before" && got != "YmVmb3Jl" {
			t.Errorf("the %s of the backup contains %q", object, got)
		}
	}
	const annotations = "jsonpath={.metadata.annotations}"
	if got := kubectl(t, "get", "bmh", "rack-1", "-o", annotations); !strings.Contains(got, "metal3.io/detached") || !strings.Contains(got, "metal3.io/paused") {
		t.Errorf("the host is neither detached nor paused: %s", got)
	}
	machine(t, "attach-hosts", "--all")
	if got := kubectl(t, "get", "bmh", "rack-1", "-o", annotations); strings.Contains(got, "metal3.io/detached") || strings.Contains(got, "metal3.io/paused") {
		t.Errorf("the host was not attached: %s", got)
	}
	if out, err := tryMachine(t, "status"); err != nil || strings.Contains(out, "no backup of this machine is configured") {
		t.Errorf("the settings of the backup are lost: %v", err)
	}
	checkNewPod(t)
}

// line returns the line of a command's output that begins with a text.
func line(t *testing.T, begin string, args ...string) string {
	t.Helper()
	out, err := tryMachine(t, args...)
	for l := range strings.Lines(out) {
		if strings.HasPrefix(l, begin) && err == nil {
			return strings.TrimSpace(l)
		}
	}
	t.Fatalf("machine %s printed no line with %s (%v)", strings.Join(args, " "), begin, err)
	return ""
}
