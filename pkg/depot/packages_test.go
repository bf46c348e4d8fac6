package depot_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/akraino-icn/bpa/pkg/depot/apt/apttest"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

func TestUploadedPackagesAreAnAptSource(t *testing.T) {
	dir := t.TempDir()
	url := serve(t, dir).URL + "/files/apt/"
	ask(t, "GET", url+"debian-12/Packages").want(t, http.StatusNotFound)
	app := apttest.Package(t, "app", "1", "amd64", "")
	call(t, "PUT", url+"debian-12/pool/app.deb", bytes.NewReader(app), "X-Checksum-Sha256", sha(string(app))).want(t, http.StatusCreated)

	index := ask(t, "GET", url+"debian-12/Packages").want(t, 200, "Package: app\n", "Filename: pool/app.deb\n", fmt.Sprintf("Size: %d\nSHA256: %s\n", len(app), sha(string(app))))
	sum := sha(index.body)
	release := ask(t, "GET", url+"debian-12/Release").want(t, 200, fmt.Sprintf(" %s %d Packages\n", sum, len(index.body)))
	if release.header.Get("Last-Modified") != "" {
		t.Error("Release has a time, which would hide a second change within one second")
	}
	ask(t, "GET", url+"debian-12/by-hash/SHA256/"+sum).want(t, 200, index.body)
	ask(t, "GET", url+"debian-12/by-hash/SHA256/"+sha("other")).want(t, http.StatusNotFound)
	ask(t, "GET", url+"debian-12/by-hash/SHA256/..%2fstate.json").want(t, http.StatusNotFound)
	ask(t, "GET", url+"debian-12/InRelease").want(t, 200, "-----BEGIN PGP SIGNED MESSAGE-----\n", sum, "\nValid-Until: ", "-----BEGIN PGP SIGNATURE-----\n")
	ask(t, "GET", url+"debian-12/Release.gpg").want(t, 200, "-----BEGIN PGP SIGNATURE-----\n")
	ask(t, "GET", url+"debian-13/Release").want(t, http.StatusNotFound)
	ask(t, "GET", url+"debian-12/damaged.txt").want(t, 200)
	ask(t, "GET", url).want(t, 200, "debian-12/\n")
	ask(t, "GET", url+"debian-12/pool/app.deb.sha256").want(t, 200, sha(string(app)))

	head := ask(t, "HEAD", url+"debian-12/Packages")
	if head.status != 200 || head.body != "" || head.header.Get("Content-Length") != fmt.Sprint(len(index.body)) || head.header.Get("X-Checksum-Sha256") != sum {
		t.Errorf("HEAD = %+v", head)
	}
	ask(t, "GET", url+"debian-12/Packages", "If-None-Match", head.header.Get("ETag")).want(t, http.StatusNotModified)
	ask(t, "GET", url+"debian-12/Packages", "Range", "bytes=0-11").want(t, http.StatusPartialContent, "Package: app")
}

// Everybody may have the public key, and nobody the private one.
func TestOnlyThePublicKeyOfPackagesIsServed(t *testing.T) {
	dir := t.TempDir()
	url := serve(t, dir).URL
	if key := ask(t, "GET", url+protocol.PackageKeyPath).want(t, 200, "-----BEGIN PGP PUBLIC KEY BLOCK-----\n"); strings.Contains(key.body, "PRIVATE") {
		t.Errorf("served:\n%s", key.body)
	}
	call(t, "PUT", url+protocol.PackageKeyPath, strings.NewReader("evil")).want(t, http.StatusMethodNotAllowed)
	private, err := os.ReadFile(filepath.Join(dir, "apt-key.asc"))
	if err != nil || !strings.HasPrefix(string(private), "-----BEGIN PGP PRIVATE KEY BLOCK-----\n") {
		t.Fatalf("%q, %v", private, err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "files/apt/debian-12"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, link := range []string{"files/key", "files/apt/debian-12/key"} {
		if err := os.Symlink(filepath.Join(dir, "apt-key.asc"), filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"/files/apt-key.asc", "/files/../apt-key.asc", "/files/%2e%2e/apt-key.asc", "/files/..%2fapt-key.asc", "/files/apt/..%2f..%2fapt-key.asc", "/files/key", "/files/apt/debian-12/key"} {
		if got := ask(t, "GET", url+path); strings.Contains(got.body, "PRIVATE") || got.status == 200 && !strings.Contains(got.body, "PUBLIC KEY") {
			t.Errorf("%s = %d:\n%s", path, got.status, got.body)
		}
	}
}

func TestPackagesThatAreNotTaken(t *testing.T) {
	dir := t.TempDir()
	url := serve(t, dir).URL + "/files/apt/"
	app, other := apttest.Package(t, "app", "1", "amd64", ""), apttest.Package(t, "app", "1", "amd64", "Section: other\n")
	upload := func(path string, content []byte) answer { return call(t, "PUT", url+path, bytes.NewReader(content)) }
	upload("debian-12/app.deb", app).want(t, http.StatusCreated)
	upload("debian-12/bad.deb", []byte("text")).want(t, http.StatusUnprocessableEntity, "not a Debian package", "nothing of it was kept")
	upload("debian-12/pool/bad.deb", app[:len(app)-1]).want(t, http.StatusUnprocessableEntity)
	upload("debian-12/again.deb", other).want(t, http.StatusConflict, "app 1 amd64 is here already", `"apt/debian-12/app.deb"`)
	upload("debian-12/app.deb", other).want(t, http.StatusConflict)
	upload("app.deb", app).want(t, http.StatusBadRequest, "/etc/os-release")
	upload("debian-12/Packages", nil).want(t, http.StatusConflict, "makes the index")
	upload("debian-12/by-hash/SHA256/x", nil).want(t, http.StatusConflict)

	put(t, dir, "apt/file-1", "in the way")
	upload("file-1/app.deb", app).want(t, http.StatusConflict, "a file is where a folder has to be")

	upload("debian-12/app.deb", app).want(t, http.StatusCreated)
	upload("debian-12/copy/app.deb", app).want(t, http.StatusCreated)
	upload("debian-13/app.deb", other).want(t, http.StatusCreated)
	call(t, "PUT", strings.Replace(url, "/apt/", "/plain/", 1)+"bad.deb", strings.NewReader("not below apt")).want(t, http.StatusCreated)
	ask(t, "GET", url+"debian-12/").want(t, 200, "app.deb\ncopy/\n")
	for _, gone := range []string{"files/apt/debian-12/bad.deb", "files/apt/debian-12/pool", "files/apt/debian-12/again.deb"} {
		if _, err := os.Stat(filepath.Join(dir, gone)); !os.IsNotExist(err) {
			t.Errorf("%s was left behind: %v", gone, err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "incoming", "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestMirrorWithItsOwnIndexIsServedAsItIs(t *testing.T) {
	url := serve(t, t.TempDir()).URL + "/files/apt/debian-12/"
	files := []string{"dists/bookworm/InRelease", "dists/bookworm/by-hash/SHA256/x", "pool/main/a/any.deb", "Packages", "Release"}
	for _, name := range files {
		call(t, "PUT", url+name, strings.NewReader("upstream's "+name)).want(t, http.StatusCreated)
	}
	for _, name := range files {
		if got := ask(t, "GET", url+name).want(t, 200).body; got != "upstream's "+name {
			t.Errorf("GET %s = %q", name, got)
		}
	}
	ask(t, "GET", url+"Packages.gz").want(t, http.StatusNotFound)
}

// The depot refuses the first file of a mirror if nodes install packages from a generated index of
// the folder: the file would hide that index.
func TestMirrorIsNotPutOverAnIndexInUse(t *testing.T) {
	url := serve(t, t.TempDir()).URL + "/files/apt/debian-12/"
	call(t, "PUT", url+"pool/app.deb", bytes.NewReader(apttest.Package(t, "app", "1", "amd64", ""))).want(t, http.StatusCreated)
	for _, name := range []string{"dists/bookworm/Release", "dists"} {
		call(t, "PUT", url+name, strings.NewReader("upstream's")).want(t, http.StatusConflict, "is served already", "another SYSTEM")
	}
	ask(t, "GET", url+"Packages").want(t, 200, "Package: app\n")
}

// Of several parallel uploads of the same package with different bytes, only one is accepted.
func TestPackageOfTwoHasTheBytesOfOne(t *testing.T) {
	url := serve(t, t.TempDir()).URL + "/files/apt/debian-12/"
	for n := range 20 {
		var all sync.WaitGroup
		var taken atomic.Int32
		for who := range 4 {
			content := apttest.Package(t, "app", fmt.Sprint(n), "amd64", fmt.Sprintf("Section: s%d\n", who))
			all.Go(func() {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, fmt.Sprintf("%s%d-%d.deb", url, n, who), bytes.NewReader(content))
				if err != nil {
					t.Error(err)
					return
				}
				response, err := http.DefaultClient.Do(request)
				if err != nil {
					t.Error(err)
					return
				}
				response.Body.Close()
				if response.StatusCode == http.StatusCreated {
					taken.Add(1)
				}
			})
		}
		all.Wait()
		if taken.Load() != 1 {
			t.Errorf("%d of 4 were taken, want 1", taken.Load())
		}
	}
	if got := strings.Count(ask(t, "GET", url+"Packages").body, "Package: app\n"); got != 20 {
		t.Errorf("%d packages in the index, want 20", got)
	}
	ask(t, "GET", url+"damaged.txt").want(t, 200, "")
}
