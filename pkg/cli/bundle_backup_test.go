package cli

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/depot/depottest"
)

// TestBackupsInABundle takes the copy of a Backup from one depot to another one, at the same path, without a machine.
func TestBackupsInABundle(t *testing.T) {
	source, site := depottest.Start(t), depottest.Start(t)
	const path, content = "binary_images/site/edge-1/backup-nightly-01234567.tar.age", "an encrypted copy"
	ask := func(want int, method, url, body string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != want {
			t.Fatalf("%s %s: %s, %v, want %d", method, url, resp.Status, err, want)
		}
		return string(text)
	}
	ask(http.StatusCreated, http.MethodPut, source.URL+"/v1/baremetalcluster/site/edge-1/binary_images/backup-nightly-01234567.tar.age/content", content)
	list := fmt.Sprintf(`{"files": [{"path": %q, "sha256": "%x", "size": %d}]}`, path, sha256.Sum256([]byte(content)), len(content))
	file := filepath.Join(t.TempDir(), "backups.tar")
	for _, args := range [][]string{{"export", "--list", "-", "--depot", source.URL, "--to", file}, {"import", file, "--depot", site.URL}} {
		if code, out, errOut := typed(t.Context(), list, args...); code != codeDone {
			t.Fatalf("%v: exit code %d:\n%s%s", args, code, out, errOut)
		}
	}
	if got := ask(http.StatusOK, http.MethodGet, site.URL+"/files/"+path, ""); got != content {
		t.Errorf("%q", got)
	}
}
