package depot_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/akraino-icn/bpa/pkg/depot"
	"github.com/akraino-icn/bpa/pkg/depot/limits"
)

const osImages = "/v1/baremetalcluster/alpha/beta/os_images"

// call sends a request with a body and header pairs.
func call(t *testing.T, method, url string, body io.Reader, header ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, body)
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
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, string(got), resp.Header}
}

func (a answer) want(t *testing.T, status int, parts ...string) answer {
	t.Helper()
	if a.status != status {
		t.Fatalf("status = %d %s, want %d", a.status, a.body, status)
	}
	for _, part := range parts {
		if !strings.Contains(a.body, part) {
			t.Errorf("body = %s, want %q in it", a.body, part)
		}
	}
	return a
}

func (a answer) offset(t *testing.T, want int) {
	t.Helper()
	if got := a.header.Get("Upload-Offset"); got != strconv.Itoa(want) {
		t.Errorf("Upload-Offset = %q, want %d", got, want)
	}
}

func record(name string, size int, more string) string {
	return fmt.Sprintf(`{"owner": "alpha", "cluster_name": "beta", "type": "container", "image_name": %q, "image_length": %d,
		"description": {"image_records": [{"image_record_name": "r", "repo": "icn", "tag": "2"}]}%s}`, name, size, more)
}

// form returns ICN's multipart body and its content type.
func form(t *testing.T, metadata string) (io.Reader, string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	if err := w.WriteField("metadata", metadata); err != nil {
		t.Fatal(err)
	}
	file, err := w.CreateFormFile("file", "image")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write([]byte("read and thrown away")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b, w.FormDataContentType()
}

func sha(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) }

func create(t *testing.T, url, metadata string) answer {
	t.Helper()
	return call(t, "POST", url, strings.NewReader(metadata), "Content-Type", "application/json")
}

func patch(t *testing.T, url string, offset int, body string) answer {
	t.Helper()
	return call(t, "PATCH", url, strings.NewReader(body), "Upload-Offset", strconv.Itoa(offset))
}

// unsized hides a body's length, so that the client sends it in chunks.
type unsized struct{ io.Reader }

func TestICNUploadInPieces(t *testing.T) {
	dir := t.TempDir()
	url := serve(t, dir).URL
	const content = "0123456789"
	body, kind := form(t, record("Ubuntu.img", len(content), ""))
	made := call(t, "POST", url+osImages, body, "Content-Type", kind).want(t, 201, `"upload_complete":false`, `"repo":"icn"`)
	image := url + made.header.Get("Location")

	patch(t, image, 0, content[:3]).want(t, 204).offset(t, 3)
	patch(t, image, 5, content[5:]).want(t, 409, "3 bytes").offset(t, 3)
	ask(t, "HEAD", image).want(t, 200).offset(t, 3)
	ask(t, "GET", image+"/content").want(t, 404)
	ask(t, "GET", url+"/files/os_images/alpha/beta/Ubuntu.img").want(t, 404)
	patch(t, image, 3, content[3:]+"more").want(t, 400, "image_length").offset(t, 3)
	call(t, "PATCH", image, unsized{strings.NewReader(content[3:])}, "Upload-Offset", "3").want(t, 204).offset(t, 10)
	patch(t, image, 10, "").want(t, 422, "complete")

	ask(t, "GET", image).want(t, 200, `"upload_complete":true`, sha(content))
	got := ask(t, "GET", image+"/content", "Range", "bytes=2-4").want(t, 206)
	if got.body != content[2:5] || got.header.Get("ETag") != `"sha256:`+sha(content)+`"` {
		t.Errorf("range = %q with ETag %s", got.body, got.header.Get("ETag"))
	}
	if got := ask(t, "GET", url+"/files/os_images/alpha/beta/Ubuntu.img").want(t, 200); got.body != content {
		t.Errorf("downloaded %q", got.body)
	}
	for _, suffix := range []string{".sha256", ".sha256sum"} {
		ask(t, "GET", url+"/files/os_images/alpha/beta/Ubuntu.img"+suffix).want(t, 200, sha(content)+"  Ubuntu.img\n")
	}
	ask(t, "GET", url+osImages).want(t, 200, `"image_name":"Ubuntu.img"`)
	ask(t, "DELETE", image).want(t, 204)
	ask(t, "GET", image).want(t, 404)
	ask(t, "DELETE", image).want(t, 404)
	ask(t, "GET", url+osImages).want(t, 200, `{"images": []}`)
	create(t, url+osImages, record("Ubuntu.img", 4, "")).want(t, 201)
}

func TestSameNameInAnotherClusterIsAnotherArtifact(t *testing.T) {
	url := serve(t, t.TempDir()).URL
	paths := []string{"/v1/baremetalcluster/a/b/os_images/x", "/v1/baremetalcluster/a/B/os_images/x", "/v1/baremetalcluster/A/b/os_images/x", "/v1/baremetalcluster/a/b/binary_images/x"}
	for _, p := range paths {
		call(t, "PUT", url+p+"/content", strings.NewReader(p)).want(t, 201, sha(p))
	}
	for _, p := range paths {
		if got := ask(t, "GET", url+p+"/content").want(t, 200); got.body != p {
			t.Errorf("%s holds %q", p, got.body)
		}
	}
	call(t, "PUT", url+paths[0]+"/content", strings.NewReader("new")).want(t, 409, "exists")
	list := ask(t, "GET", url+"/v1/baremetalcluster/a").want(t, 200)
	var images struct{ Images []struct{ Owner string } }
	if err := json.Unmarshal([]byte(list.body), &images); err != nil || len(images.Images) != 3 {
		t.Errorf("owner a has %s, %v", list.body, err)
	}
}

func TestAnnouncedDigestIsChecked(t *testing.T) {
	dir := t.TempDir()
	url := serve(t, dir).URL
	image := url + osImages + "/disk.img"
	before := tree(t, dir)
	create(t, url+osImages, record("disk.img", 4, fmt.Sprintf(`, "sha256": %q`, sha("good")))).want(t, 201)
	patch(t, image, 0, "evil").want(t, 422, sha("good"), sha("evil"))
	ask(t, "GET", image).want(t, 404)
	sum := sha256.Sum256([]byte("good"))
	call(t, "PUT", image+"/content", strings.NewReader("evil"), "Upload-Checksum", "sha256 "+base64.StdEncoding.EncodeToString(sum[:])).want(t, 422)
	if after := tree(t, dir); after != before {
		t.Errorf("a refused upload left a trace:\n%s\nbefore:\n%s", after, before)
	}
	call(t, "PUT", image+"/content", strings.NewReader("good"), "X-Checksum-Sha256", sha("good")).want(t, 201)
}

// tree lists the files below a directory.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, "\n")
}

func TestBadRequestsAreExplained(t *testing.T) {
	url := serve(t, t.TempDir(), depot.WithLimits(limits.Limits{MaxUpload: 100, MaxOpen: 2})).URL
	create(t, url+osImages, record("open", 5, "")).want(t, 201)
	for _, c := range []struct {
		name   string
		got    answer
		status int
		text   string
	}{
		{"empty", create(t, url+osImages, ""), 400, "empty"},
		{"no JSON", create(t, url+osImages, "{"), 422, "JSON"},
		{"no form", call(t, "POST", url+osImages, strings.NewReader("x"), "Content-Type", "text/plain"), 422, "multipart"},
		{"no name", create(t, url+osImages, `{"owner": "alpha", "image_length": 1}`), 400, "image_name"},
		{"no owner", create(t, url+osImages, `{"image_name": "a", "image_length": 1}`), 400, "owner"},
		{"no length", create(t, url+osImages, record("a", 0, "")), 400, "image_length"},
		{"other owner", create(t, url+"/v1/baremetalcluster/other/beta/os_images", record("a", 1, "")), 400, "make them agree"},
		{"other cluster", create(t, url+"/v1/baremetalcluster/alpha/other/os_images", record("a", 1, "")), 400, "make them agree"},
		{"bad kind", create(t, url+"/v1/baremetalcluster/alpha/beta/images", record("a", 1, "")), 400, "kind"},
		{"bad name", create(t, url+osImages, record("a/b", 1, "")), 400, "image_name"},
		{"bad digest", create(t, url+osImages, record("a", 1, `, "sha256": "12"`)), 400, "64"},
		{"too large", create(t, url+osImages, record("a", 101, "")), 413, "--max-upload"},
		{"there already", create(t, url+osImages, record("open", 5, "")), 409, "under way"},
		{"no offset", call(t, "PATCH", url+osImages+"/open", strings.NewReader("x")), 400, "Upload-Offset"},
		{"bad offset", patch(t, url+osImages+"/open", -1, "x"), 400, "Upload-Offset"},
		{"nothing to add to", patch(t, url+osImages+"/none", 0, "x"), 404, "not in the depot"},
		{"update nothing", call(t, "PUT", url+osImages+"/none", strings.NewReader(record("none", 1, "")), "Content-Type", "application/json"), 404, ""},
		{"no content length", call(t, "PUT", url+osImages+"/c/content", unsized{strings.NewReader("x")}), 411, "Content-Length"},
		{"dots", ask(t, "GET", url+"/v1/baremetalcluster/alpha/beta/os_images/%2e%2e%2fx"), 400, "image_name"},
		{"encoded slash", ask(t, "GET", url+"/v1/baremetalcluster/al%2Fpha/beta/os_images/x"), 400, "owner"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.got.want(t, c.status, c.text)
			if kind := c.got.header.Get("Content-Type"); kind != "application/problem+json" {
				t.Errorf("Content-Type = %s", kind)
			}
		})
	}
	create(t, url+osImages, record("second", 1, "")).want(t, 201)
	create(t, url+osImages, record("third", 1, "")).want(t, 503, "under way")
}

func TestDescriptionsCanChangeAndNothingElse(t *testing.T) {
	url := serve(t, t.TempDir()).URL
	image := url + osImages + "/a"
	update := func(metadata string) answer {
		return call(t, "PUT", image, strings.NewReader(metadata), "Content-Type", "application/json")
	}
	create(t, url+osImages, record("a", 4, "")).want(t, 201)
	patch(t, image, 0, "ab").want(t, 204)
	update(strings.Replace(record("a", 4, `, "image_offset": 0, "upload_complete": true`), "icn", "new", 1)).want(t, 201, `"repo":"new"`, `"image_offset":2`, `"upload_complete":false`)
	patch(t, image, 2, "cd").want(t, 204)
	update(strings.Replace(record("a", 4, ""), "icn", "newer", 1)).want(t, 201, `"repo":"newer"`, `"upload_complete":true`)
	ask(t, "GET", image).want(t, 200, `"repo":"newer"`, sha("abcd"))
	if got := ask(t, "GET", image+"/content"); got.body != "abcd" {
		t.Errorf("content = %q", got.body)
	}
	update(record("a", 5, "")).want(t, 400, "image_length")
	update(record("a", 4, fmt.Sprintf(`, "sha256": %q`, sha("x")))).want(t, 422)
}

func TestUploadGoesOnAfterARestart(t *testing.T) {
	dir := t.TempDir()
	const content = "the first half, the second half"
	first := serve(t, dir)
	create(t, first.URL+osImages, record("a", len(content), "")).want(t, 201)
	patch(t, first.URL+osImages+"/a", 0, content[:10]).want(t, 204)
	first.Close()

	second := serve(t, dir)
	ask(t, "HEAD", second.URL+osImages+"/a").want(t, 200).offset(t, 10)
	patch(t, second.URL+osImages+"/a", 10, content[10:]).want(t, 204)
	ask(t, "GET", second.URL+osImages+"/a").want(t, 200, sha(content))
}

func TestCutConnectionKeepsWhatArrived(t *testing.T) {
	server := serve(t, t.TempDir())
	create(t, server.URL+osImages, record("a", 10, "")).want(t, 201)
	resp := halfSent(t, server, "PATCH "+osImages+"/a HTTP/1.1\r\nHost: d\r\nUpload-Offset: 0\r\nContent-Length: 10\r\nConnection: close\r\n\r\nabcd")
	if !strings.Contains(resp, " 400 ") || !strings.Contains(resp, "Upload-Offset: 4") {
		t.Errorf("answer to a cut upload: %s", resp)
	}
	ask(t, "HEAD", server.URL+osImages+"/a").want(t, 200).offset(t, 4)
	patch(t, server.URL+osImages+"/a", 4, "efghij").want(t, 204)
	ask(t, "GET", server.URL+osImages+"/a").want(t, 200, sha("abcdefghij"))
}

// halfSent sends bytes, closes its side, and returns the answer.
func halfSent(t *testing.T, server *httptest.Server, request string) string {
	t.Helper()
	conn, err := net.DialTCP("tcp", nil, server.Listener.Addr().(*net.TCPAddr))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

func TestInstallationStatusNeedsKubernetes(t *testing.T) {
	url := serve(t, t.TempDir()).URL + "/v1/baremetalcluster/alpha/beta/status"
	ask(t, "GET", url).want(t, 503, "--kubeconfig")
	ask(t, "GET", url+"/node-1").want(t, 503)
	call(t, "PUT", url+"/node-1", strings.NewReader("{}")).want(t, 400)
}

func TestDepotsOwnRepositoriesAreReadOnlyInTheRegistry(t *testing.T) {
	url := serve(t, t.TempDir()).URL
	call(t, "PUT", url+osImages+"/a/content", strings.NewReader("content")).want(t, 201)
	repository := url + "/v2/bpa-depot/artifacts/alpha/beta/os_images/a"
	ask(t, "GET", repository+"/manifests/current", "Accept", "application/vnd.oci.image.manifest.v1+json").want(t, 200, sha("content"))
	ask(t, "GET", repository+"/blobs/sha256:"+sha("content")).want(t, 200, "content")
	call(t, "POST", repository+"/blobs/uploads/", nil).want(t, 403, "DENIED")
	call(t, "DELETE", repository+"/manifests/current", nil).want(t, 403, "DENIED")
}

func TestPushesRespectTheLimits(t *testing.T) {
	url := serve(t, t.TempDir(), depot.WithLimits(limits.Limits{MaxUpload: 8, Quota: 4})).URL
	call(t, "POST", url+"/v2/a/blobs/uploads/?digest=sha256:"+sha("123456789"), strings.NewReader("123456789")).want(t, 413)
	call(t, "POST", url+"/v2/a/blobs/uploads/?digest=sha256:"+sha("12345"), strings.NewReader("12345")).want(t, 507, "quota")
}

func TestUploadedArchiveCanBePulled(t *testing.T) {
	server := serve(t, t.TempDir())
	img := randomImage(t)
	tag, err := name.NewTag("registry.k8s.io/kube-proxy:v1.35.4")
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := tarball.Write(tag, img, &archive); err != nil {
		t.Fatal(err)
	}
	const kind = "/v1/baremetalcluster/alpha/beta/container_images"
	size := archive.Len()
	create(t, server.URL+kind, record("proxy.tar", size, "")).want(t, 201)
	patch(t, server.URL+kind+"/proxy.tar", 0, archive.String()).want(t, 204)
	ask(t, "GET", server.URL+kind+"/proxy.tar").want(t, 200, `"images":["kube-proxy:v1.35.4"]`)
	pulled, err := remote.Image(reference(t, server, "kube-proxy:v1.35.4"))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(pulled); err != nil {
		t.Error(err)
	}
	ask(t, "GET", server.URL+kind+"/proxy.tar/content").want(t, 200)

	call(t, "PUT", server.URL+kind+"/bad.tar/content", strings.NewReader("this is no archive, and never was one")).want(t, 422, "cannot be read")
	ask(t, "GET", server.URL+kind+"/bad.tar").want(t, 404)
	if got := ask(t, "GET", server.URL+"/v2/_catalog").want(t, 200); strings.Contains(got.body, "bad") {
		t.Errorf("a refused archive is in the catalog: %s", got.body)
	}
}
