package depot_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/depot"
	"github.com/akraino-icn/bpa/pkg/depot/apt/apttest"
	"github.com/akraino-icn/bpa/pkg/depot/deadline"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

func TestWaitingClientsSeeEveryChange(t *testing.T) {
	d, err := depot.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	// The limits would cut off a client that makes the server wait. Here the client waits for the server.
	server := httptest.NewServer(deadline.Handler(deadline.Limits{First: time.Millisecond, Pause: time.Millisecond, Rate: 1 << 20}, d))
	patient := httptest.NewServer(d) // for clients that send something, which can take longer on a busy machine
	t.Cleanup(func() {
		server.Close()
		patient.Close()
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	const upload = "/v1/baremetalcluster/alpha/all/binary_images/app.deb"
	app := apttest.Package(t, "app", "1", "amd64", "")
	etag := ask(t, "GET", server.URL+protocol.PackagesPath).want(t, 200, `"packages":[]`).header.Get("ETag")
	ask(t, "GET", server.URL+protocol.PackagesPath, "If-None-Match", etag, "Prefer", "wait=1").want(t, 304)
	for _, step := range []struct {
		method, path string
		content      []byte
		code         int
		want         []string
	}{
		{"PUT", upload + "/content", app, 201, []string{"/files/binary_images/alpha/all/app.deb"}},
		{"PUT", "/files/apt/debian-12/pool/app_1%253a1.deb", app, 201, []string{"/files/apt/debian-12/pool/app_1%253a1.deb", "/files/binary_images/alpha/all/app.deb"}},
		{"DELETE", upload, nil, 204, []string{"/files/apt/debian-12/pool/app_1%253a1.deb"}},
	} {
		got := make(chan answer)
		go func() {
			got <- ask(t, "GET", server.URL+protocol.PackagesPath, "If-None-Match", etag, "Prefer", "wait=30")
		}()
		call(t, step.method, patient.URL+step.path, bytes.NewReader(step.content)).want(t, step.code)
		next := (<-got).want(t, 200)
		var list protocol.PackageList
		if err := json.Unmarshal([]byte(next.body), &list); err != nil {
			t.Fatal(err)
		}
		var paths []string
		for _, p := range list.Packages {
			paths = append(paths, p.Path)
			if p.SHA256 != sha(string(app)) || p.Size != int64(len(app)) || p.Name != "app" {
				t.Errorf("package: %+v", p)
			}
			ask(t, "GET", server.URL+p.Path, "Range", "bytes=0-6").want(t, http.StatusPartialContent, "!<arch>")
		}
		if !slices.Equal(paths, step.want) {
			t.Errorf("%s %s: %s; want %s", step.method, step.path, strings.Join(paths, " "), strings.Join(step.want, " "))
		}
		etag = next.header.Get("ETag")
	}
	done := make(chan answer)
	go func() {
		done <- ask(t, "GET", server.URL+protocol.PackagesPath, "If-None-Match", etag, "Prefer", "wait=300")
	}()
	d.StopWaiting()
	(<-done).want(t, 304)
}

// A mirror has its own index, so the depot does not know its packages.
func TestListHasNoPackagesOfMirrors(t *testing.T) {
	dir := t.TempDir()
	url := serve(t, dir).URL
	app := string(apttest.Package(t, "app", "1", "amd64", ""))
	put(t, dir, "apt/debian-12/app.deb", app)
	put(t, dir, "apt/debian-13/app.deb", app)
	put(t, dir, "apt/debian-13/dists/trixie/InRelease", "")
	got := ask(t, "GET", url+protocol.PackagesPath).want(t, 200, `"system":"debian-12"`)
	if strings.Contains(got.body, "debian-13") {
		t.Errorf("the list has packages of the mirror: %s", got.body)
	}
}
