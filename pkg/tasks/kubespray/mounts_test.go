package kubespray_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// A reset runs when there is no rendered inventory any more, or none yet.
func TestOnlyAnInstallationReadsTheInventory(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		contract.KeyRequest: `{"provisioning":"edge-1","namespace":"site","operation":"reset","nodes":[{"name":"worker-1","host":"host-1","hostUID":"uid-1"}]}`,
		contract.KeyVersion: strconv.Itoa(contract.Version),
		node.KeyFile:        "key",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mounts := kubespray.Mounts{RequestDir: dir, InventoryDir: dir, SSHDir: dir}
	in := session.Input{Playbook: contract.PlaybookReset}
	if err := mounts.Fill(&in, "site", "edge-1"); err != nil || len(in.Nodes) != 1 || string(in.PrivateKey) != "key" {
		t.Errorf("reset: %+v, %v", in, err)
	}
	in.Playbook = contract.PlaybookInstall
	if err := mounts.Fill(&in, "site", "edge-1"); err == nil {
		t.Error("an installation without an inventory is accepted")
	}
}
