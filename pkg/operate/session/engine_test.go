package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
)

func TestEngine(t *testing.T) {
	for _, c := range []struct {
		galaxy, want string
		installs     bool // it only installs and resets
	}{
		{"namespace: kubernetes_sigs\nname: kubespray\nversion: 2.31.0\n", "kubespray v2.31.0", false},
		{"namespace: bpa\nname: stand-in\nversion: 1.0.0\n", "stand-in v1.0.0", true},
		{"{}", "", false},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "galaxy.yml"), []byte(c.galaxy), 0o600); err != nil {
			t.Fatal(err)
		}
		e, err := engineOf(dir)
		if err != nil || e.String() != c.want {
			t.Errorf("%q is %q, %v, want %q", c.galaxy, e, err, c.want)
		}
		for operation, playbook := range map[string]string{
			contract.OperationInstall: contract.PlaybookInstall, contract.OperationReset: contract.PlaybookReset, "": contract.PlaybookReset,
		} {
			if err := e.check(Input{Playbook: playbook, Request: contract.Request{Order: contract.Order{Operation: operation}}}); err != nil {
				t.Errorf("%s, operation %q: %v", e, operation, err)
			}
		}
		// No playbook of these operations is in the folder: the reason must be the engine, and not the file.
		for _, operation := range []string{contract.OperationAddNodes, contract.OperationAddControlPlane, contract.OperationConfigure} {
			_, err := Run(t.Context(), Input{PlaybooksDir: dir, Playbook: "scale.yml", Request: contract.Request{Order: contract.Order{Operation: operation}}}, Ports{Log: t.Output()}, nil)
			if got := err != nil && strings.Contains(err.Error(), "only install and reset clusters"); got != c.installs {
				t.Errorf("%s, operation %s: %v", e, operation, err)
			}
		}
	}
	if _, err := engineOf(t.TempDir()); err == nil {
		t.Error("playbooks without galaxy.yml have an engine")
	}
}
