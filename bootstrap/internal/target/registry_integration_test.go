//go:build integration

package target

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/bootstrap/internal/target/targettest"
)

// TestFilesInADepot stores files in the depot of another machine, which has the registry of the distribution project.
// DEPOT names a binary that is already built.
func TestFilesInADepot(t *testing.T) {
	root, address := targettest.StartDepot(t)
	token, err := os.ReadFile(filepath.Join(root, "local-token"))
	if err != nil {
		t.Fatal(err)
	}
	login := func(token string) Access {
		return Access{Credentials: targettest.File(t, 0o600, `{"auths": {"`+address+`": {"username": "machine", "password": "`+token+`"}}}`)}
	}
	to, err := New("oci://"+address+"/site/backups", login(strings.TrimSpace(string(token))))
	if err != nil {
		t.Fatal(err)
	}
	use(t, to, login(strings.TrimSpace(string(token))), 20<<20)
	denied, err := New("oci://"+address+"/site/backups", login(targettest.Password))
	if err != nil {
		t.Fatal(err)
	}
	says(t, "another token", denied.Check(t.Context()), "401", "the owner of the login")

	// Another client gets the file as it is, with its name.
	if err := write(t, to, one, "content"); err != nil {
		t.Fatal(err)
	}
	oras := targettest.Build(t, "ORAS", "../../../test/clients/modules/oras", "oras.land/oras/cmd/oras")
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), oras, "pull", "--plain-http", "--output", dir, address+"/site/backups:"+one).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if text, err := os.ReadFile(filepath.Join(dir, one)); err != nil || string(text) != "content" {
		t.Errorf("%q, %v", text, err)
	}
}
