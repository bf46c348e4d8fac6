package node

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

func TestWorkspaces(t *testing.T) {
	dir := t.TempDir()
	request := `{"provisioning":"edge-1","namespace":"site","operation":"plugins","members":[{"name":"master-1","host":"host-1","hostUID":"uid-1"}]}`
	for name, text := range map[string]string{
		contract.KeyVersion: strconv.Itoa(contract.Version), contract.KeyRequest: request, KeyFile: "key", contract.KeyHostsINI: "[all]\n", contract.KeyGroupVars: "{}",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var w Workspaces
	set := flag.NewFlagSet("task", flag.ContinueOnError)
	w.Flags(set)
	if err := set.Parse([]string{"--provisioning=edge-1", "--namespace=site", "--request-dir=" + dir, "--inventory-dir=" + dir, "--ssh-dir=" + dir}); err != nil {
		t.Fatal(err)
	}
	got, err := w.Read()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"edge-1", "[all]\n", "{}", "key"}, []string{got.Request.Provisioning, string(got.HostsINI), string(got.GroupVars), string(got.PrivateKey)}); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	if err := os.Remove(filepath.Join(dir, KeyFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Read(); task.FailureOf(err).Reason != contract.ReasonInvalidRequest {
		t.Errorf("without a private key: %v, want %s", err, contract.ReasonInvalidRequest)
	}
}
