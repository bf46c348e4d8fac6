package prepare

import (
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// nodeRoot is a folder that the script uses as root folder. Its fake update program counts its
// calls, and fails as long as the file "broken" exists.
type nodeRoot string

func newNodeRoot(t *testing.T) nodeRoot {
	t.Helper()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	update := fmt.Sprintf("#!/bin/sh\necho once >>%s/calls\ntest ! -e %s/broken\n", root, root)
	if err := os.WriteFile(filepath.Join(root, "bin", "update-ca-certificates"), []byte(update), 0o755); err != nil {
		t.Fatal(err)
	}
	return nodeRoot(root)
}

func (n nodeRoot) trust(ca string) error {
	root := string(n)
	script := strings.NewReplacer("$PEM", base64.StdEncoding.EncodeToString([]byte(ca)),
		contract.DepotCAPath, root+contract.DepotCAPath, "/usr/local/share", root+"/usr/local/share", "/etc/pki", root+"/etc/pki").Replace(trustScript)
	command := exec.Command("sh", "-c", script)
	command.Env = []string{"PATH=" + root + "/bin:" + os.Getenv("PATH")}
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// holds checks that the file for containerd has all certificates, and that the system's trust store
// has one file for each certificate.
func (n nodeRoot) holds(t *testing.T, certificates ...string) {
	t.Helper()
	if got, err := os.ReadFile(string(n) + contract.DepotCAPath); err != nil || string(got) != strings.Join(certificates, "") {
		t.Errorf("%s is %q (%v), want %q", contract.DepotCAPath, got, err, certificates)
	}
	files, err := filepath.Glob(string(n) + "/usr/local/share/ca-certificates/*.crt")
	if err != nil {
		t.Fatal(err)
	}
	var stored []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, string(text))
	}
	if !slices.Equal(stored, certificates) {
		t.Errorf("the system's store has %q, want %q", stored, certificates)
	}
}

func (n nodeRoot) updates(t *testing.T) int {
	t.Helper()
	calls, err := os.ReadFile(filepath.Join(string(n), "calls"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(calls), "once\n")
}

func TestTrustScriptDoesItOnceAndAgainAfterAFailure(t *testing.T) {
	n := newNodeRoot(t)
	broken := filepath.Join(string(n), "broken")
	if err := os.WriteFile(broken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if n.trust(ca) == nil {
		t.Error("a failed update is not reported")
	}
	if err := os.Remove(broken); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := n.trust(ca); err != nil {
			t.Fatal(err)
		}
	}
	if got := n.updates(t); got != 2 {
		t.Errorf("the system's store was updated %d times; want once after the failure", got)
	}
	n.holds(t, ca)
}

// While a site replaces the depot's certificate, it can have both the old and the new certificate.
func TestTrustScriptReplacesWhatWasThere(t *testing.T) {
	n := newNodeRoot(t)
	next := strings.Replace(ca, "MIIB", "MIIC", 1)
	store := filepath.Join(string(n), "usr/local/share/ca-certificates")
	if err := os.MkdirAll(store, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(store, "bpa-depot.crt"), []byte("of an earlier version"), 0o644); err != nil {
		t.Fatal(err)
	}
	for i, certificates := range [][]string{{ca}, {next, ca}, {next}} {
		if err := n.trust(strings.Join(certificates, "")); err != nil {
			t.Fatal(err)
		}
		n.holds(t, certificates...)
		if got := n.updates(t); got != i+1 {
			t.Errorf("the system's store was updated %d times, want %d", got, i+1)
		}
	}
}
