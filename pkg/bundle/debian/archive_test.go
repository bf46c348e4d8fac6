//go:build integration

package debian

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// archive is a distribution's archive: packages, an index, and a signature.
type archive struct {
	t       *testing.T
	dir     string
	url     string
	keyring string

	mu      sync.Mutex
	fetched []string
}

// Needs fails the test if one of the programs is missing.
func Needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%v: install apt, dpkg and gpg", err)
		}
	}
}

// newArchive makes a signed archive. Each argument holds the control fields of one package.
// newArchive also makes the machine's configuration of apt, with a hook and without a proxy. At its
// end, the test fails if apt-get has run the hook.
func newArchive(t *testing.T, packages ...string) *archive {
	t.Helper()
	Needs(t, "apt-get", "dpkg-deb", "gpg")
	a := &archive{t: t, dir: t.TempDir()}
	var index strings.Builder
	for _, control := range packages {
		a.build(&index, control)
	}
	a.write("Packages", index.String())
	sum := sha256.Sum256([]byte(index.String()))
	a.sign(fmt.Sprintf("Origin: test\nSuite: test\nDate: %s\nSHA256:\n %x %d Packages\n", time.Now().UTC().Format(time.RFC1123), sum, index.Len()))
	server := httptest.NewServer(http.HandlerFunc(a.serve))
	t.Cleanup(server.Close)
	a.url = server.URL

	hook := filepath.Join(t.TempDir(), "hook")
	a.write("machine.conf", fmt.Sprintf("Acquire::http::Proxy::127.0.0.1 \"DIRECT\";\nAPT::Update::Post-Invoke {\"touch %s\";};\nAPT::Get::AllowUnauthenticated \"true\";\n", hook))
	t.Setenv("APT_CONFIG", filepath.Join(a.dir, "machine.conf"))
	t.Cleanup(func() {
		if _, err := os.Stat(hook); err == nil {
			t.Error("a hook of the machine's apt was called")
		}
	})
	return a
}

func (a *archive) write(name, text string) {
	a.t.Helper()
	if err := os.WriteFile(filepath.Join(a.dir, name), []byte(text), 0o644); err != nil {
		a.t.Fatal(err)
	}
}

// build makes a package and appends its stanza to the index.
func (a *archive) build(index *strings.Builder, control string) {
	a.t.Helper()
	tree := filepath.Join(a.t.TempDir(), "tree")
	if err := os.MkdirAll(filepath.Join(tree, "DEBIAN"), 0o755); err != nil {
		a.t.Fatal(err)
	}
	if !strings.Contains(control, "Architecture: ") {
		control += "\nArchitecture: all"
	}
	control += "\nMaintainer: nobody <nobody@example.org>\nDescription: nothing\n"
	if err := os.WriteFile(filepath.Join(tree, "DEBIAN/control"), []byte(control), 0o644); err != nil {
		a.t.Fatal(err)
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(control, "Package: "), "\n")
	deb := filepath.Join(a.dir, fmt.Sprintf("%s-%d.deb", name, index.Len()))
	a.must("dpkg-deb", "--root-owner-group", "-b", tree, deb)
	content, err := os.ReadFile(deb)
	if err != nil {
		a.t.Fatal(err)
	}
	fmt.Fprintf(index, "%sFilename: ./%s\nSize: %d\nSHA256: %x\n\n", control, filepath.Base(deb), len(content), sha256.Sum256(content))
}

// sign writes InRelease, signed with a new key, and the keyring with that key.
func (a *archive) sign(release string) {
	a.t.Helper()
	home, err := os.MkdirTemp("", "gpg") // TempDir of the test can be too long for the path of a socket
	if err != nil {
		a.t.Fatal(err)
	}
	defer func() {
		a.must("gpgconf", "--homedir", home, "--kill", "gpg-agent")
		if err := os.RemoveAll(home); err != nil {
			a.t.Error(err)
		}
	}()
	gpg := []string{"--homedir", home, "--batch", "--yes", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""}
	a.write("Release", release)
	a.keyring = filepath.Join(a.dir, "keys.gpg")
	a.must("gpg", append(gpg, "--quick-generate-key", "test <test@example.org>", "ed25519", "sign", "never")...)
	a.must("gpg", append(gpg, "--output", a.keyring, "--export")...)
	a.must("gpg", append(gpg, "--output", filepath.Join(a.dir, "InRelease"), "--clearsign", filepath.Join(a.dir, "Release"))...)
}

func (a *archive) must(program string, args ...string) {
	a.t.Helper()
	var said bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		a.t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, said.String())
	}
}

func (a *archive) serve(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.fetched = append(a.fetched, filepath.Base(r.URL.Path))
	a.mu.Unlock()
	http.FileServer(http.Dir(a.dir)).ServeHTTP(w, r)
}

// line returns the archive's line in a sources.list.
func (a *archive) line() string { return "deb " + a.url + "/ ./" }
