package depot_test

import (
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const kubelet = "dl.k8s.io/release/v1.35.4/bin/linux/amd64/kubelet"

func sumLine(content, name string) string {
	return fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(content)), name)
}

func TestFileIsServedWhole(t *testing.T) {
	dir := t.TempDir()
	url := serve(t, dir).URL + "/files/" + kubelet
	put(t, dir, kubelet, "0123456789")

	got := ask(t, "GET", url)
	if got.status != http.StatusOK || got.body != "0123456789" {
		t.Errorf("GET = %d %q", got.status, got.body)
	}
	want := map[string]string{
		"Content-Length": "10", "Accept-Ranges": "bytes",
		"Content-Type": "application/octet-stream", "X-Content-Type-Options": "nosniff",
	}
	for key, value := range want {
		if got.header.Get(key) != value {
			t.Errorf("header %s = %q, want %q", key, got.header.Get(key), value)
		}
	}
	head := ask(t, "HEAD", url)
	if head.status != http.StatusOK || head.body != "" || head.header.Get("Content-Length") != "10" {
		t.Errorf("HEAD = %d %q, length %s", head.status, head.body, head.header.Get("Content-Length"))
	}
}

func TestRangesAndETags(t *testing.T) {
	dir := t.TempDir()
	url := serve(t, dir).URL + "/files/os.img"
	put(t, dir, "os.img", "0123456789")
	etag := ask(t, "HEAD", url).header.Get("ETag")
	if !strings.HasPrefix(etag, `"`) {
		t.Fatalf("ETag = %s, want a strong one", etag)
	}

	for _, tt := range []struct {
		name   string
		header []string
		status int
		body   string
	}{
		{"middle", []string{"Range", "bytes=2-4"}, http.StatusPartialContent, "234"},
		{"resume", []string{"Range", "bytes=7-", "If-Range", etag}, http.StatusPartialContent, "789"},
		{"resume of another version", []string{"Range", "bytes=7-", "If-Range", `"old"`}, http.StatusOK, "0123456789"},
		{"beyond the end", []string{"Range", "bytes=10-"}, http.StatusRequestedRangeNotSatisfiable, "invalid range: failed to overlap\n"},
		{"unchanged", []string{"If-None-Match", etag}, http.StatusNotModified, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ask(t, "GET", url, tt.header...)
			if diff := cmp.Diff(answer{status: tt.status, body: tt.body}, answer{status: got.status, body: got.body}, cmp.AllowUnexported(answer{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}

	// A change of content changes the ETag, even if the size and modification time stay the same.
	full := filepath.Join(dir, "files", "os.img")
	before, err := os.Stat(full)
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "fresh", "9876543210")
	if err := os.Chtimes(filepath.Join(dir, "files", "fresh"), before.ModTime(), before.ModTime()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "files", "fresh"), full); err != nil {
		t.Fatal(err)
	}
	if again := ask(t, "HEAD", url).header.Get("ETag"); again == etag {
		t.Errorf("ETag %s survived a change of content", etag)
	}
}

func TestChecksums(t *testing.T) {
	dir := t.TempDir()
	url := serve(t, dir).URL + "/files/"
	put(t, dir, kubelet, "first")
	if got, want := ask(t, "GET", url+kubelet+".sha256").body, sumLine("first", "kubelet"); got != want {
		t.Errorf("checksum = %q, want %q", got, want)
	}
	put(t, dir, kubelet, "other")
	if got, want := ask(t, "GET", url+kubelet+".sha256").body, sumLine("other", "kubelet"); got != want {
		t.Errorf("checksum after a change = %q, want %q", got, want)
	}
	put(t, dir, "vendor.iso", "iso")
	put(t, dir, "vendor.iso.sha256", "as the vendor wrote it")
	if got := ask(t, "GET", url+"vendor.iso.sha256").body; got != "as the vendor wrote it" {
		t.Errorf("a stored checksum file was replaced by %q", got)
	}
	for _, name := range []string{"absent.sha256", "dl.k8s.io.sha256", ".sha256", "..%2f..%2fetc%2fpasswd.sha256"} {
		if got := ask(t, "GET", url+name); got.status != http.StatusNotFound {
			t.Errorf("GET %s = %d %q, want 404", name, got.status, got.body)
		}
	}
}

func TestDirectoryIsListed(t *testing.T) {
	dir := t.TempDir()
	url := serve(t, dir).URL
	put(t, dir, "b/inner", "")
	put(t, dir, "a", "")
	for _, path := range []string{"/files/", "/files/b"} {
		want := map[string]string{"/files/": "a\nb/\n", "/files/b": "inner\n"}[path]
		if got := ask(t, "GET", url+path); got.body != want {
			t.Errorf("GET %s = %d %q, want %q", path, got.status, got.body, want)
		}
	}
}

func TestFilesAreReadPutAndDeletedAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	url := serve(t, dir).URL
	put(t, dir, "kept", "kept")
	for _, method := range []string{"POST", "PATCH"} {
		if got := ask(t, method, url+"/files/kept"); got.status != http.StatusMethodNotAllowed {
			t.Errorf("%s = %d, want 405", method, got.status)
		}
	}
	if got := ask(t, "GET", url+"/files/kept").body; got != "kept" {
		t.Errorf("file is now %q", got)
	}
}

func TestNothingOutsideTheFilesIsServed(t *testing.T) {
	dir := t.TempDir()
	server := serve(t, dir)
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("secret content"), 0o644); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "inside", "inner")
	files := filepath.Join(dir, "files")
	for name, target := range map[string]string{
		"absolute": secret, "relative": "../secret", "dir": "..", "etc": "/etc", "loop": "loop", "good": "inside",
	} {
		if err := os.Symlink(target, filepath.Join(files, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(files, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}

	for _, path := range []string{
		"/files/../secret", "/files/%2e%2e/secret", "/files/..%2fsecret", "/files/x/../../secret", "/files//../secret",
		"/files/absolute", "/files/relative", "/files/dir/secret", "/files/etc/passwd", "/files/loop",
		"/files/absolute.sha256", "/files/relative.sha256", "/files/fifo", "/files/fifo.sha256",
		"/files/inside/below", "/files/nul%00", "/files/" + strings.Repeat("n", 300), "/secret", "/digests/", "/upload-secret",
	} {
		status, body := raw(t, server.Listener.Addr().String(), path)
		if status != "404" && status != "307" && status != "301" && status != "400" {
			t.Errorf("GET %s = %s %s, want not found", path, status, body)
		}
		if strings.Contains(body, "secret content") || strings.Contains(body, "root:") {
			t.Errorf("GET %s leaked %q", path, body)
		}
	}
	if got := ask(t, "GET", server.URL+"/files/good"); got.body != "inner" {
		t.Errorf("a link inside the files = %d %q", got.status, got.body)
	}
}

// raw sends a path unchanged; Go's HTTP client would clean it first.
func raw(t *testing.T, addr, path string) (status, body string) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.0\r\n\r\n", path); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := conn.Read(buf)
		all.Write(buf[:n])
		if err != nil {
			break
		}
	}
	head, body, _ := strings.Cut(all.String(), "\r\n\r\n")
	fields := strings.Fields(head)
	if len(fields) < 2 {
		t.Fatalf("GET %s: no status in %q", path, head)
	}
	return fields[1], body
}
