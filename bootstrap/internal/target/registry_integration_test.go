//go:build integration

package target

import (
	"os"
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
}
