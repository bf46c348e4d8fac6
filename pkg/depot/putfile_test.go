package depot_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/depot"
	"github.com/akraino-icn/bpa/pkg/depot/limits"
)

func TestFileIsPutWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	server := serve(t, dir)
	file := server.URL + "/files/dl.k8s.io/release/v1.35.4/kubelet"
	call(t, "PUT", file, strings.NewReader("first"), "X-Checksum-Sha256", sha("first")).want(t, http.StatusCreated)
	ask(t, "GET", file).want(t, 200, "first")
	ask(t, "GET", file+".sha256").want(t, 200, sha("first")+"  kubelet\n")
	call(t, "PUT", file, strings.NewReader("evil"), "X-Checksum-Sha256", sha("second")).want(t, 422, sha("second"), sha("evil"))
	halfSent(t, server, "PUT /files/dl.k8s.io/release/v1.35.4/kubelet HTTP/1.1\r\nHost: d\r\nConnection: close\r\nContent-Length: 9\r\n\r\nhalf")
	ask(t, "GET", file).want(t, 200, "first")
	call(t, "PUT", file, strings.NewReader("second")).want(t, 201)
	ask(t, "GET", file).want(t, 200, "second")
	ask(t, "GET", file+".sha256").want(t, 200, sha("second"))
	left, err := filepath.Glob(filepath.Join(dir, "incoming", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// An administrator may link folders in files/. A client that may write below one name must not reach another folder of
// the depot with it, nor the packages of the nodes, for which it would need another right.
func TestFilesAreNotPutThroughLinks(t *testing.T) {
	dir := t.TempDir()
	url := serve(t, dir).URL
	put(t, dir, "apt/debian-12/there", "content")
	put(t, dir, "real/there", "content")
	for link, target := range map[string]string{"registry": "../registry", "t": "../tls", "packages": "apt/debian-12", "real/deeper": "../real", "file": "real/there"} {
		if err := os.Symlink(target, filepath.Join(dir, "files", link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"registry/docker/x", "t/x", "t", "packages/evil", "packages/new/evil", "real/deeper/x"} {
		want := http.StatusConflict
		if path == "t" { // replaces the link itself
			want = http.StatusCreated
		}
		call(t, "PUT", url+"/files/"+path, strings.NewReader("evil")).want(t, want)
	}
	call(t, "PUT", url+"/files/registry/x", strings.NewReader("evil")).want(t, http.StatusConflict, `"registry" is a link`)
	call(t, "PUT", url+"/files/real/x", strings.NewReader("good")).want(t, http.StatusCreated)
	ask(t, "GET", url+"/files/packages/there").want(t, 200, "content")
	for _, folder := range []string{"registry", "tls", "files/apt/debian-12", "files/real"} {
		for _, name := range []string{"x", "docker/x", "evil", "new/evil"} {
			if text, err := os.ReadFile(filepath.Join(dir, folder, name)); err == nil && string(text) == "evil" {
				t.Errorf("%s/%s was written through a link", folder, name)
			}
		}
	}
}

func TestFilesThatCannotBePut(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	url := serve(t, dir, depot.WithLimits(limits.Limits{MaxUpload: 10})).URL
	put(t, dir, "file", "content")
	if err := os.Symlink(outside, filepath.Join(dir, "files", "out")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{
		"":                      400,
		"folder/":               400,
		"%2e%2e/x":              400,
		"a%00b":                 400,
		"a%5Cb":                 400,
		"out/x":                 409,
		"file/x":                409,
		"os_images/alpha/b/img": 409,
	} {
		call(t, "PUT", url+"/files/"+path, strings.NewReader("x")).want(t, want)
	}
	call(t, "PUT", url+"/files/a", unsized{strings.NewReader("x")}).want(t, 411)
	call(t, "PUT", url+"/files/a", strings.NewReader("12345678901")).want(t, 413)
	call(t, "PUT", url+"/files/a", strings.NewReader("x"), "Digest", "sha-256=x").want(t, 400)
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("outside of the depot: %v, %v", left, err)
	}
}

// Parallel uploads of the same file do not wait for each other; the last one to end wins.
func TestASecondWriterLetsAFileEnd(t *testing.T) {
	file := serve(t, t.TempDir()).URL + "/files/a"
	finish := sendSlowly(t, "PUT", file, 10, "first")
	call(t, "PUT", file, strings.NewReader("second")).want(t, 201)
	ask(t, "GET", file).want(t, 200, "second")
	if got := finish(" file"); got != http.StatusCreated {
		t.Errorf("the first = %d, want 201", got)
	}
	ask(t, "GET", file).want(t, 200, "first file")
}
