//go:build integration

package bucket_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/opencontainers/go-digest"

	"github.com/akraino-icn/bpa/pkg/depot"
	"github.com/akraino-icn/bpa/pkg/depot/limits"
	"github.com/akraino-icn/bpa/pkg/depot/scrub"
	"github.com/akraino-icn/bpa/pkg/depot/store"
	"github.com/akraino-icn/bpa/pkg/depot/store/bucket"
	"github.com/akraino-icn/bpa/pkg/depot/store/storetest"
)

// server is a real S3 server: Versity's gateway over a directory, in the version that test/s3 pins.
// S3_SERVER names a binary that is already built.
type server struct {
	endpoint, dir string
}

func startServer(t *testing.T) *server {
	t.Helper()
	binary := os.Getenv("S3_SERVER")
	if binary == "" {
		binary = filepath.Join(t.TempDir(), "versitygw")
		build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "github.com/versity/versitygw/cmd/versitygw")
		build.Dir = "../../../../test/s3"
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build the S3 server: %v\n%s", err, out)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	s := &server{"http://" + address, t.TempDir()}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	cmd := exec.CommandContext(ctx, binary, "--port", address, "posix", s.dir)
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY=test", "ROOT_SECRET_KEY=test-secret")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // Wait returns an error, since the server was killed
		if t.Failed() {
			t.Logf("the S3 server said:\n%s", out.String())
		}
	})
	s.wait(t)
	return s
}

func (s *server) wait(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; {
		resp, err := http.Get(s.endpoint)
		if err == nil {
			_ = resp.Body.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the S3 server does not answer: %v", err)
		}
		time.Sleep(20 * time.Millisecond) // between two questions
	}
}

// bucket creates an empty bucket. The gateway's buckets are directories.
func (s *server) bucket(t *testing.T) bucket.At {
	t.Helper()
	b := "b" + fmt.Sprint(time.Now().UnixNano())
	if err := os.Mkdir(filepath.Join(s.dir, b), 0o755); err != nil {
		t.Fatal(err)
	}
	return bucket.At{Endpoint: s.endpoint, Region: "us-east-1", Bucket: b, Prefix: "site-1", AccessKey: "test", SecretKey: "test-secret", Plain: true}
}

func TestStoreInABucket(t *testing.T) {
	s := startServer(t)
	storetest.Run(t, func(t *testing.T) *store.Store {
		opened, err := bucket.Open(t.Context(), s.bucket(t))
		if err != nil {
			t.Fatal(err)
		}
		return opened
	})
	t.Run("a depot", func(t *testing.T) { depotInABucket(t, s.bucket(t)) })
	t.Run("two depots", func(t *testing.T) { twoDepots(t, s.bucket(t)) })
	t.Run("a damaged blob", func(t *testing.T) { damagedBucket(t, s, s.bucket(t)) })
	t.Run("a collection", func(t *testing.T) { collectBucket(t, s.bucket(t)) })
	t.Run("a full disk", func(t *testing.T) { fullDisk(t, s.bucket(t)) })
}

// collectBucket frees the content of a deleted artifact while a depot serves the bucket.
func collectBucket(t *testing.T, at bucket.At) {
	withDepot(t, t.TempDir(), at, func(url string) {
		const artifacts = "/v1/baremetalcluster/o/c/os_images/"
		do(t, 201, "PUT", url+artifacts+"kept/content", "kept")
		do(t, 201, "PUT", url+artifacts+"gone/content", "content of a deleted artifact")
		do(t, 204, "DELETE", url+artifacts+"gone", "")
		do(t, 202, "POST", url+"/v1/gc?grace=0s", "")
		var state string
		for deadline := time.Now().Add(time.Minute); !strings.Contains(state, `"state":"succeeded"`); time.Sleep(10 * time.Millisecond) { // between two questions
			if state = do(t, 200, "GET", url+"/v1/gc", ""); time.Now().After(deadline) || strings.Contains(state, "failed") {
				t.Fatalf("the collection: %s", state)
			}
		}
		// The content, its metadata and its manifest.
		if !strings.Contains(state, `"freedBlobs":3`) {
			t.Errorf("the collection: %s, want 3 blobs freed", state)
		}
		do(t, 200, "GET", url+artifacts+"kept/content", "")
		do(t, 201, "PUT", url+artifacts+"gone/content", "content of a deleted artifact")
		do(t, 200, "GET", url+artifacts+"gone/content", "")
	})
}

// twoDepots opens a second depot while the first one runs, and again after the first one has
// stopped.
func twoDepots(t *testing.T, at bucket.At) {
	second := t.TempDir()
	withDepot(t, t.TempDir(), at, func(url string) {
		_, err := depot.New(second, depot.WithS3(at), depot.WithLogger(slog.New(slog.DiscardHandler)))
		if err == nil || !strings.Contains(err.Error(), "in use by another depot") {
			t.Fatalf("a second depot in the bucket = %v, want to be refused", err)
		}
		do(t, 200, "GET", url+"/readyz", "")
		do(t, 201, "PUT", url+"/v1/baremetalcluster/o/c/os_images/a/content", "content")
	})
	withDepot(t, second, at, func(url string) { do(t, 200, "GET", url+"/v1/baremetalcluster/o/c/os_images/a/content", "") })
}

// depotInABucket uses all APIs of a depot, also after a restart.
func depotInABucket(t *testing.T, at bucket.At) {
	dir := t.TempDir()
	content := strings.Repeat("0123456789abcdef", 1<<16)
	img, err := random.Image(3<<20, 2)
	if err != nil {
		t.Fatal(err)
	}
	withDepot(t, dir, at, func(url string) {
		if err := remote.Write(tag(t, url), img); err != nil {
			t.Fatal(err)
		}
		record := fmt.Sprintf(`{"owner": "o", "image_name": "a", "image_length": %d}`, len(content))
		do(t, 201, "POST", url+"/v1/baremetalcluster/o/c/os_images", record, "Content-Type", "application/json")
		do(t, 204, "PATCH", url+"/v1/baremetalcluster/o/c/os_images/a", content[:1000], "Upload-Offset", "0")
		do(t, 409, "PATCH", url+"/v1/baremetalcluster/o/c/os_images/a", content[:1000], "Upload-Offset", "0")
	})
	withDepot(t, dir, at, func(url string) {
		do(t, 204, "PATCH", url+"/v1/baremetalcluster/o/c/os_images/a", content[1000:], "Upload-Offset", "1000")
		do(t, 200, "GET", url+"/readyz", "")
		if got := do(t, 206, "GET", url+"/files/os_images/o/c/a", "", "Range", "bytes=1000000-1000004"); got != content[1000000:1000005] {
			t.Errorf("range = %q", got)
		}
		pulled, err := remote.Image(tag(t, url))
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Image(pulled); err != nil {
			t.Error(err)
		}
	})
}

func withDepot(t *testing.T, dir string, at bucket.At, use func(url string)) {
	t.Helper()
	d, err := depot.New(dir, depot.WithS3(at), depot.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(d)
	use(server.URL)
	server.Close()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

func tag(t *testing.T, url string) name.Tag {
	t.Helper()
	ref, err := name.NewTag(strings.TrimPrefix(url, "http://") + "/app:v1")
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func do(t *testing.T, want int, method, url, body string, header ...string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != want {
		t.Fatalf("%s %s = %d %s, %v; want %d", method, url, resp.StatusCode, got, err, want)
	}
	return string(got)
}

// fullDisk is a depot whose own disk is full. Content that goes to the bucket needs no space on
// that disk.
func fullDisk(t *testing.T, at bucket.At) {
	d, err := depot.New(t.TempDir(), depot.WithS3(at), depot.WithLimits(limits.Limits{MinFree: 1 << 60}), depot.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(d)
	do(t, 201, "PUT", server.URL+"/v1/baremetalcluster/o/c/os_images/a/content", "content")
	if text := do(t, 507, "PUT", server.URL+"/files/a", "content"); !strings.Contains(text, "--min-free") {
		t.Errorf("a file that does not fit: %q, want what to do", text)
	}
	server.Close()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// damagedBucket flips a bit of a blob in a bucket. An upload of the same content must replace the
// blob, or restore it after the blob was set aside.
func damagedBucket(t *testing.T, s *server, at bucket.At) {
	const content, path = "content of which a bit flips", "/v1/baremetalcluster/o/c/os_images/a/content"
	sum := digest.FromString(content)
	flip := func() {
		object := filepath.Join(s.dir, at.Bucket, at.Prefix, store.BlobPath(sum))
		if err := os.WriteFile(object, []byte("content of which b bit flips"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	withDepot(t, dir, at, func(url string) {
		do(t, 201, "PUT", url+path, content)
		flip()
		do(t, 200, "PUT", url+path, content)
		if got := do(t, 200, "GET", url+path, ""); got != content {
			t.Errorf("after the same upload: %q", got)
		}
	})
	flip()
	opened, err := bucket.Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	if _, err := scrub.Run(t.Context(), opened, func(d scrub.Damage) {
		found++
		if err := scrub.SetAside(t.Context(), opened, d); err != nil {
			t.Error(err)
		}
	}); err != nil || found != 1 {
		t.Fatalf("%d damages, %v", found, err)
	}
	withDepot(t, dir, at, func(url string) {
		do(t, 404, "HEAD", url+path, "")
		do(t, 201, "PUT", url+path, content)
		if got := do(t, 200, "GET", url+path, ""); got != content {
			t.Errorf("after it was set aside: %q", got)
		}
	})
}
