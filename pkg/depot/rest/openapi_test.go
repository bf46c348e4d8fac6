package rest_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/depot/apt/apttest"
	"github.com/akraino-icn/bpa/pkg/depot/limits"
	"github.com/akraino-icn/bpa/pkg/depot/packages"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/depot/rest"
	"github.com/akraino-icn/bpa/pkg/depot/store"
	"github.com/akraino-icn/bpa/pkg/depot/uploads"
)

// disk is a disk whose used space a test sets.
type disk struct{ used int64 }

func (d *disk) Held([]string) (int64, []int64) { return d.used, nil }
func (*disk) Free() (int64, bool, error)       { return 0, false, nil }

// largest is the maximum size of an upload, in bytes.
const largest = 50_000

// noSources is a depot without apt sources.
type noSources struct{}

func (noSources) Packages() ([]protocol.Package, []protocol.DamagedPackage, error) {
	return nil, nil, nil
}

// software is the status of every cluster. It fails with err.
type software struct {
	status protocol.ClusterStatus
	err    error
}

func (s *software) Status(context.Context, string, string, func(string) (bool, error)) (protocol.ClusterStatus, error) {
	return s.status, s.err
}

// full is an importer that always fails for lack of space.
type full struct{}

func (full) Import(context.Context, string, int64, func() (io.ReadSeekCloser, error)) ([]string, error) {
	return nil, &limits.Refusal{Status: http.StatusInsufficientStorage, Text: "no room for images"}
}

func (f full) Restore(ctx context.Context, name string, size int64, open func() (io.ReadSeekCloser, error)) ([]string, error) {
	return f.Import(ctx, name, size, open)
}

// contract is a client that checks every answer against the served document.
type contract struct {
	t      *testing.T
	server *httptest.Server
	router routers.Router
	disk   *disk
	// dir is the store's directory.
	dir     string
	seen    map[string]bool
	uploads *uploads.Service
	// software answers requests for the installation status.
	software software
	// arrivals counts the bytes of all request bodies.
	arrivals *arrivals
}

func newContract(t *testing.T) *contract {
	t.Helper()
	s, err := store.OnDisk(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	c := &contract{t: t, dir: s.Dir(), disk: &disk{}, seen: map[string]bool{}, arrivals: newArrivals()}
	gate := limits.NewQuota(limits.Limits{MaxUpload: largest, MaxOpen: 2, Quota: 1 << 20}, c.disk)
	c.uploads = uploads.New(s, gate, full{}, log)
	handler, err := rest.New(rest.Services{
		Uploads: c.uploads, Quota: gate, Packages: packages.New(c.uploads, noSources{}, log), Software: &c.software, Maintenance: &collecting{}, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	c.server = httptest.NewServer(c.arrivals.count(handler))
	t.Cleanup(c.server.Close)
	return c
}

func (c *contract) load() *openapi3.T {
	c.t.Helper()
	resp, err := http.Get(c.server.URL + "/v1/openapi.json")
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	doc, err := openapi3.NewLoader().LoadFromIoReader(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := doc.Validate(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	if c.router, err = gorillamux.NewRouter(doc); err != nil {
		c.t.Fatal(err)
	}
	return doc
}

// do sends a request and checks that the document describes its answer.
func (c *contract) do(want int, method, path, body string, header ...string) *http.Response {
	c.t.Helper()
	var content io.Reader = strings.NewReader(body)
	if slices.Contains(header, "unsized") {
		content = io.MultiReader(content) // of unknown length
	}
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.server.URL+path, content)
	if err != nil {
		c.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if resp.StatusCode != want {
		c.t.Errorf("%s %s = %d %s, want %d", method, path, resp.StatusCode, got, want)
	}
	c.check(req, resp, got)
	return resp
}

func (c *contract) check(req *http.Request, resp *http.Response, body []byte) {
	c.t.Helper()
	route, params, err := c.router.FindRoute(req)
	if err != nil {
		c.t.Fatalf("%s %s is not in the document: %v", req.Method, req.URL.Path, err)
	}
	c.seen[fmt.Sprintf("%s %s %d", route.Method, route.Path, resp.StatusCode)] = true
	request := &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route, Options: &openapi3filter.Options{ExcludeRequestBody: true}}
	if resp.StatusCode < 300 {
		if err := openapi3filter.ValidateRequest(c.t.Context(), request); err != nil {
			c.t.Errorf("%s %s was taken, and the document forbids it: %v", req.Method, req.URL.Path, err)
		}
	}
	// An empty body is not checked: the 201 for a tus client has no body and no Content-Type.
	response := &openapi3filter.ResponseValidationInput{RequestValidationInput: request, Status: resp.StatusCode, Header: resp.Header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true, ExcludeResponseBody: len(body) == 0}}
	response.SetBodyBytes(body)
	if err := openapi3filter.ValidateResponse(c.t.Context(), response); err != nil {
		c.t.Errorf("%s %s = %d is not what the document says: %v", req.Method, req.URL.Path, resp.StatusCode, err)
	}
}

func declared(doc *openapi3.T) []string {
	var all []string
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			for code := range operation.Responses.Map() {
				all = append(all, method+" "+path+" "+code)
			}
		}
	}
	slices.Sort(all)
	return all
}

func record(name string, size int) string {
	return fmt.Sprintf(`{"owner": "o", "cluster_name": "c", "image_name": %q, "image_length": %d, "description": {"image_records": [{"tag": "1"}]}}`, name, size)
}

func TestHandlersAndDocumentAgree(t *testing.T) {
	c := newContract(t)
	doc := c.load()
	c.do(200, "GET", "/v1/openapi.json", "")
	c.icn()
	c.contents()
	c.resumable()
	c.statuses()
	c.packages()
	c.contended()
	c.limits()
	c.recovering()
	c.maintained()

	var seen []string
	for s := range c.seen {
		seen = append(seen, s)
	}
	slices.Sort(seen)
	if diff := cmp.Diff(declared(doc), seen); diff != "" {
		t.Errorf("answers in the document that the test did not see, or the reverse (-document +seen):\n%s", diff)
	}
}

const (
	kind  = protocol.Base + "/o/c/os_images"
	image = kind + "/a"
)

var inJSON = []string{"Content-Type", "application/json"}

func (c *contract) icn() {
	c.t.Helper()
	for _, path := range []string{"", "/o", "/o/c", "/o/c/os_images"} {
		c.do(200, "GET", protocol.Base+path, "")
	}
	c.do(400, "GET", protocol.Base+"/!", "")
	c.do(400, "GET", protocol.Base+"/o/!", "")
	c.do(400, "GET", protocol.Base+"/o/c/images", "")
	c.do(201, "POST", kind, record("a", 4), inJSON...)
	c.do(409, "POST", kind, record("a", 4), inJSON...)
	c.do(400, "POST", kind, "", inJSON...)
	c.do(422, "POST", kind, "{", inJSON...)
	c.do(200, "GET", image, "")
	c.do(404, "GET", kind+"/none", "")
	c.do(400, "GET", kind+"/!", "")
	c.do(200, "HEAD", image, "")
	c.do(404, "HEAD", kind+"/none", "")
	c.do(400, "HEAD", kind+"/!", "")
	c.do(201, "PUT", image, record("a", 4), inJSON...)
	c.do(400, "PUT", image, record("a", 5), inJSON...)
	c.do(404, "PUT", kind+"/none", record("none", 4), inJSON...)
	c.do(413, "PUT", image, strings.Repeat(" ", 1<<20+1), inJSON...)
	c.do(422, "PUT", image, "x", "Content-Type", "text/plain")
	c.do(204, "PATCH", image, "ab", "Upload-Offset", "0")
	c.do(400, "PATCH", image, "ab")
	c.do(404, "PATCH", kind+"/none", "ab", "Upload-Offset", "0")
	c.do(409, "PATCH", image, "ab", "Upload-Offset", "1")
	c.do(204, "PATCH", image, "cd", "Upload-Offset", "2")
	c.do(422, "PATCH", image, "", "Upload-Offset", "4")
	c.do(200, "GET", kind, "")
}

func (c *contract) contents() {
	c.t.Helper()
	content, other := image+"/content", kind+"/whole/content"
	etag := c.do(200, "GET", content, "").Header.Get("ETag")
	c.do(206, "GET", content, "", "Range", "bytes=1-2")
	c.do(304, "GET", content, "", "If-None-Match", etag)
	c.do(416, "GET", content, "", "Range", "bytes=9-")
	c.do(404, "GET", other, "")
	c.do(400, "GET", kind+"/!/content", "")
	c.do(200, "HEAD", content, "")
	c.do(404, "HEAD", other, "")
	c.do(201, "PUT", other, "all of it")
	c.do(200, "PUT", other, "all of it")
	c.do(409, "PUT", other, "all of others")
	c.do(400, "PUT", kind+"/b/content", "x", "X-Checksum-Sha256", "x")
	c.do(411, "PUT", kind+"/b/content", "x", "unsized")
	c.do(422, "PUT", kind+"/b/content", "x", "X-Checksum-Sha256", strings.Repeat("0", 64))
	c.do(204, "DELETE", image, "")
	c.do(404, "DELETE", image, "")
	c.do(400, "DELETE", kind+"/!", "")
}

func (c *contract) tusCreate(name, more string, size string) string {
	c.t.Helper()
	metadata := "filename " + base64.StdEncoding.EncodeToString([]byte(name)) + more
	return c.do(201, "POST", kind, "", "Tus-Resumable", "1.0.0", "Upload-Length", size, "Upload-Metadata", metadata).Header.Get("Location")
}

func (c *contract) resumable() {
	c.t.Helper()
	c.do(200, "OPTIONS", kind, "")
	c.do(412, "POST", kind, "", "Tus-Resumable", "0.9", "Upload-Length", "1", "Upload-Metadata", "filename YQ==")
	upload := c.tusCreate("tus.img", "", "4")
	if !strings.HasPrefix(upload, kind+"/tus.img/uploads/") {
		c.t.Fatalf("Location = %s", upload)
	}
	c.do(200, "OPTIONS", upload, "")
	c.do(200, "HEAD", upload, "")
	c.do(404, "HEAD", upload+"0", "")
	tus := func(want int, method, path, body, offset string, more ...string) {
		c.t.Helper()
		c.do(want, method, path, body, append([]string{"Tus-Resumable", "1.0.0", "Upload-Offset", offset, "Content-Type", "application/offset+octet-stream"}, more...)...)
	}
	tus(204, "PATCH", upload, "ab", "0")
	tus(400, "PATCH", upload, "cd", "x")
	tus(404, "PATCH", upload+"0", "cd", "2")
	tus(409, "PATCH", upload, "cd", "1")
	tus(413, "PATCH", upload, "cde", "2")
	c.do(412, "PATCH", upload, "cd", "Upload-Offset", "2")
	tus(204, "POST", upload, "c", "2", "X-HTTP-Method-Override", "PATCH")
	tus(404, "POST", upload+"0", "c", "2", "X-HTTP-Method-Override", "PATCH")
	tus(204, "PATCH", upload, "d", "3")
	c.do(200, "HEAD", upload, "") // the upload is complete; a client that missed the answer can still ask for it
	tus(422, "DELETE", upload, "", "0")
	wrong := c.tusCreate("wrong.img", ",sha256 "+base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("0"), 64)), "1")
	tus(422, "PATCH", wrong, "a", "0")
	ended := c.tusCreate("ended.img", "", "1")
	c.do(412, "DELETE", ended, "")
	tus(204, "DELETE", ended, "", "0")
	tus(404, "DELETE", ended, "", "0")
}

func (c *contract) statuses() {
	c.t.Helper()
	cluster := protocol.Base + "/o/c/status"
	then := time.Unix(1e9, 0).UTC()
	c.software.status = protocol.ClusterStatus{Owner: "o", ClusterName: "c", Namespace: "o", Nodes: []protocol.NodeStatus{{
		Node: "n", Checked: &then, Packages: []protocol.PackageStatus{{Name: "p", Wanted: "2", Installed: "1", State: "failed", Since: &then, Message: "no card"}},
	}}}
	c.do(200, "GET", cluster, "")
	c.do(400, "GET", protocol.Base+"/o/!/status", "")
	c.do(200, "GET", cluster+"/n", "")
	c.do(400, "GET", protocol.Base+"/!/c/status/n", "")
	c.do(404, "GET", cluster+"/none", "")
	c.software.err = errors.New("connection refused")
	for _, path := range []string{cluster, cluster + "/n"} {
		if c.do(503, "GET", path, "").Header.Get("Retry-After") == "" {
			c.t.Errorf("%s does not say when to try again", path)
		}
	}
}

// collecting is the maintenance of a depot whose second collection begins while the first one runs.
type collecting struct{ begun int }

func (m *collecting) Usage(context.Context) (protocol.Usage, error) {
	if m.begun > 0 {
		return protocol.Usage{}, store.ErrCollecting
	}
	return protocol.Usage{Kinds: []protocol.Amount{{Name: "images", Count: 1, Bytes: 2}}, Owners: []protocol.Amount{}}, nil
}

func (m *collecting) StartCollection(rest.CollectionOptions) (protocol.Collection, error) {
	if m.begun++; m.begun > 1 {
		return protocol.Collection{}, store.ErrCollecting
	}
	return protocol.Collection{ID: "1", State: protocol.Collecting}, nil
}

func (m *collecting) Collection() (protocol.Collection, bool) {
	return protocol.Collection{ID: "1", State: protocol.Collecting}, m.begun > 0
}

func (c *contract) maintained() {
	c.do(200, "GET", protocol.UsagePath, "")
	c.do(404, "GET", protocol.CollectionPath, "")
	c.do(400, "POST", protocol.CollectionPath+"?grace=soon", "")
	c.do(400, "POST", protocol.CollectionPath+"?dry-run=perhaps", "")
	c.do(400, "POST", protocol.CollectionPath+"?unlisted-images=true", "app:v1\n")
	c.do(202, "POST", protocol.CollectionPath+"?dry-run=true&grace=1h", "")
	c.do(200, "GET", protocol.CollectionPath, "")
	c.do(409, "POST", protocol.CollectionPath, "")
	c.do(409, "GET", protocol.UsagePath, "")
}

func (c *contract) packages() {
	c.t.Helper()
	c.do(201, "PUT", protocol.Base+"/o/c/binary_images/app.deb/content", string(apttest.Package(c.t, "app", "1", "amd64", "")))
	c.do(201, "PUT", protocol.Base+"/o/c/binary_images/bad.tar/content", "text")
	etag := c.do(200, "GET", protocol.PackagesPath, "").Header.Get("ETag")
	c.do(304, "GET", protocol.PackagesPath, "", "If-None-Match", etag)
	c.do(204, "DELETE", protocol.Base+"/o/c/binary_images/app.deb", "")
	c.do(204, "DELETE", protocol.Base+"/o/c/binary_images/bad.tar", "")
}

func (c *contract) limits() {
	c.t.Helper()
	c.do(413, "POST", kind, record("large", largest+1), inJSON...)
	c.do(413, "PUT", kind+"/large/content", strings.Repeat("x", largest+1))
	c.disk.used = 1<<20 - 1
	c.do(507, "POST", kind, record("full", 2), inJSON...)
	c.do(507, "PUT", kind+"/full/content", "ab")
	c.disk.used = 0
	const archives = protocol.Base + "/o/c/container_images"
	c.do(201, "POST", archives, record("archive", 2), inJSON...)
	c.do(507, "PATCH", archives+"/archive", "ab", "Upload-Offset", "0")
	c.do(507, "PATCH", archives+"/archive", "", "Upload-Offset", "2") // the second attempt sends no bytes
	c.do(204, "DELETE", archives+"/archive", "")
	metadata := "filename " + base64.StdEncoding.EncodeToString([]byte("archive"))
	upload := c.do(201, "POST", archives, "", "Tus-Resumable", "1.0.0", "Upload-Length", "1", "Upload-Metadata", metadata).Header.Get("Location")
	c.do(507, "PATCH", upload, "a", "Tus-Resumable", "1.0.0", "Upload-Offset", "0", "Content-Type", "application/offset+octet-stream")
	c.do(204, "DELETE", archives+"/archive", "")
	c.do(201, "POST", kind, record("open-1", 2), inJSON...)
	c.do(201, "POST", kind, record("open-2", 2), inJSON...)
	c.do(503, "POST", kind, record("open-3", 2), inJSON...)
	c.do(503, "PUT", kind+"/open-3/content", "ab")
}

// contended checks the answers to other requests while one request works on the artifact.
func (c *contract) contended() {
	c.t.Helper()
	tus := []string{"Tus-Resumable", "1.0.0", "Upload-Offset", "0", "Content-Type", "application/offset+octet-stream"}
	upload := c.tusCreate("contended", "", "4")
	first := c.begin("PATCH", upload, "ab", 4, tus...)
	c.arrived(upload, len("ab"))
	c.stands(upload, "0")
	c.busy("DELETE", upload, "", tus...)
	c.busy("PUT", kind+"/contended", record("contended", 4), inJSON...)
	c.busy("DELETE", kind+"/contended", "")
	if got := first.end("cd"); got != http.StatusNoContent {
		c.t.Errorf("the first request = %d", got)
	}
	// While the archive is imported, no client may be told that the upload is complete.
	unlock, err := c.uploads.Lock(c.t.Context(), protocol.Ref{Owner: "o", Cluster: "c", Kind: protocol.OSImages, Name: "contended"}, uploads.Claim{})
	if err != nil {
		c.t.Fatal(err)
	}
	if c.do(423, "HEAD", upload, "").Header.Get("Retry-After") == "" {
		c.t.Error("HEAD of an upload that is being finished: no Retry-After")
	}
	unlock()
	c.do(200, "HEAD", upload, "")
	c.do(204, "DELETE", kind+"/contended", "")
}

// recovering checks the answers between a restart and the end of the recovery.
func (c *contract) recovering() {
	c.t.Helper()
	c.do(204, "DELETE", kind+"/open-1", "")
	c.do(204, "DELETE", kind+"/open-2", "")
	upload := c.tusCreate("left", "", "4")
	left := kind + "/left"
	tus := []string{"Tus-Resumable", "1.0.0", "Upload-Offset", "0", "Content-Type", "application/offset+octet-stream"}
	if err := c.uploads.Inherit(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	c.do(200, "GET", left, "")
	if got := c.do(200, "HEAD", left, "").Header.Get("Upload-Offset"); got != "0" {
		c.t.Errorf("Upload-Offset = %q", got)
	}
	for _, r := range []*http.Response{
		c.do(503, "PATCH", left, "abcd", "Upload-Offset", "0"),
		c.do(503, "PUT", left, record("left", 4), inJSON...),
		c.do(503, "PUT", left+"/content", "abcd"),
		c.do(503, "DELETE", left, ""),
		c.do(503, "POST", kind, record("left", 4), inJSON...),
		c.do(503, "HEAD", upload, ""),
		c.do(503, "PATCH", upload, "abcd", tus...),
		c.do(503, "DELETE", upload, "", tus...),
	} {
		if r.Header.Get("Retry-After") == "" {
			c.t.Errorf("%s %s does not say when to try again", r.Request.Method, r.Request.URL.Path)
		}
	}
	c.uploads.Recover(c.t.Context())
	c.do(204, "PATCH", upload, "abcd", tus...)
}
