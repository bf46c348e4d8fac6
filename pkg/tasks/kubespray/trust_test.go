package kubespray

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/akraino-icn/bpa/pkg/tasks/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/outcome"
)

const ca = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"

func TestEveryNodeIsMadeToTrustTheDepot(t *testing.T) {
	w := newWorld(t, 2)
	w.in.Request.DepotCA = ca
	var asked atomic.Int32
	w.trusts = func(command string, _ io.Writer) int {
		if strings.Contains(command, base64.StdEncoding.EncodeToString([]byte(ca))) {
			asked.Add(1)
		}
		return 0
	}
	if _, err := w.run(); err != nil {
		t.Fatal(err)
	}
	if asked.Load() != 3 {
		t.Errorf("%d of 3 nodes were given the certificate", asked.Load())
	}
}

func TestANodeWithoutAWayToTrustIsNamed(t *testing.T) {
	w := newWorld(t, 0)
	w.in.Request.DepotCA = ca
	w.trusts = func(_ string, stderr io.Writer) int {
		fmt.Fprint(stderr, "sh: 1: update-ca-certificates: not found")
		return 127
	}
	_, err := w.run()
	var failed *outcome.Error
	if !errors.As(err, &failed) || failed.Reason != contract.ReasonPlaybookFailed || failed.Host != "master-1" {
		t.Fatalf("Run: %v; want a failure of master-1 that a person must mend", err)
	}
	for _, want := range []string{"update-ca-certificates: not found", "package ca-certificates"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
	if len(w.ran) > 0 {
		t.Error("the playbook ran all the same")
	}
}

// The script itself, in a root of its own, with a program in place of the system's that counts its calls.
func TestTrustScript(t *testing.T) {
	root := t.TempDir()
	bin := filepath.Join(root, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	update := fmt.Sprintf("#!/bin/sh\necho once >>%s/calls\ntest ! -e %s/broken\n", root, root)
	if err := os.WriteFile(filepath.Join(bin, "update-ca-certificates"), []byte(update), 0o755); err != nil {
		t.Fatal(err)
	}
	run := func() error {
		script := strings.NewReplacer("$PEM", base64.StdEncoding.EncodeToString([]byte(ca)),
			contract.DepotCAPath, root+contract.DepotCAPath, "/usr/local/share", root+"/usr/local/share", "/etc/pki", root+"/etc/pki").Replace(trustScript)
		command := exec.Command("sh", "-c", script)
		command.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH")}
		out, err := command.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	if err := os.WriteFile(filepath.Join(root, "broken"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if run() == nil {
		t.Error("a failed update goes unnoticed")
	}
	if err := os.Remove(filepath.Join(root, "broken")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := run(); err != nil {
			t.Fatal(err)
		}
	}
	calls, err := os.ReadFile(filepath.Join(root, "calls"))
	if err != nil || string(calls) != "once\nonce\n" {
		t.Errorf("the system's store was updated %q times (%v); want once after the failure", calls, err)
	}
	for _, file := range []string{contract.DepotCAPath, "/usr/local/share/ca-certificates/bpa-depot.crt"} {
		if got, err := os.ReadFile(root + file); err != nil || string(got) != ca {
			t.Errorf("%s is %q (%v)", file, got, err)
		}
	}
}
