package transfer

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/depot/depottest"
)

// internet is the upstream of the tests: a registry and a file server.
type internet struct {
	t     testing.TB
	host  string        // of the registry
	delay time.Duration // delay of each answer of the registry
	// refuse reports whether the registry answers a request with 403; nil: never.
	refuse func(*http.Request) bool
	files  *httptest.Server

	mu      sync.Mutex
	content map[string][]byte // of files, by path
	calls   []string
}

func newInternet(t testing.TB) *internet {
	n := &internet{t: t, content: map[string][]byte{}}
	images := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.note("registry " + r.Method + " " + r.URL.Path)
		time.Sleep(n.delay)
		if n.refuse != nil && n.refuse(r) {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		images.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	n.files = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.note("file " + r.Method + " " + r.URL.Path)
		n.mu.Lock()
		content, ok := n.content[r.URL.Path]
		n.mu.Unlock()
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(content)
	}))
	t.Cleanup(n.files.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	n.host = u.Host
	return n
}

func (n *internet) note(call string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls = append(n.calls, call)
}

// count returns the number of requests that begin with a prefix.
func (n *internet) count(prefix string) (c int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, call := range n.calls {
		if strings.HasPrefix(call, prefix) {
			c++
		}
	}
	return c
}

func (n *internet) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls = nil
}

// publish stores an image or an index under a name in the registry.
func (n *internet) publish(repository string, what remote.Taggable) artifacts.Image {
	n.t.Helper()
	ref, err := name.ParseReference(n.host + "/" + repository)
	if err != nil {
		n.t.Fatal(err)
	}
	switch what := what.(type) {
	case v1.Image:
		err = remote.Write(ref, what)
	case v1.ImageIndex:
		err = remote.WriteIndex(ref, what)
	}
	if err != nil {
		n.t.Fatal(err)
	}
	return artifacts.Image{Ref: n.host + "/" + repository}
}

// offer adds a file to the file server.
func (n *internet) offer(path string, content []byte) artifacts.File {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.content["/"+path] = content
	return artifacts.File{Path: path, URL: n.files.URL + "/" + path, SHA256: depottest.Sum(content)}
}

// family returns images that share a base layer, like the images of one project.
func family(t testing.TB, count int, base, own int64) []v1.Image {
	t.Helper()
	shared, err := random.Layer(base, "application/vnd.oci.image.layer.v1.tar+gzip")
	if err != nil {
		t.Fatal(err)
	}
	var all []v1.Image
	for range count {
		layer, err := random.Layer(own, "application/vnd.oci.image.layer.v1.tar+gzip")
		if err != nil {
			t.Fatal(err)
		}
		image, err := mutate.AppendLayers(empty.Image, shared, layer)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, image)
	}
	return all
}

// forPlatforms returns an index of random images.
func forPlatforms(t testing.TB, architectures ...string) v1.ImageIndex {
	t.Helper()
	index := v1.ImageIndex(empty.Index)
	for _, a := range architectures {
		image, err := random.Image(500, 2)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		config = config.DeepCopy()
		config.OS, config.Architecture = "linux", a
		if image, err = mutate.ConfigFile(image, config); err != nil {
			t.Fatal(err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: a}}})
	}
	return index
}

func connect(t testing.TB, d *depottest.Depot) *client.Depot {
	t.Helper()
	client, err := client.Connect(t.Context(), d.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func upstream(t testing.TB) *Upstream {
	t.Helper()
	u, err := NewUpstream(nil)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// missing returns the artifacts of a list that the depot lacks.
func missing(t testing.TB, to *client.Depot, list artifacts.List) artifacts.Missing {
	t.Helper()
	have, err := to.Stat(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	return artifacts.Compare(list, have)
}

func digestOf(t testing.TB, what interface{ Digest() (v1.Hash, error) }) string {
	t.Helper()
	h, err := what.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return h.String()
}

func read(t testing.TB, to *client.Depot, path string) []byte {
	t.Helper()
	body, _, err := to.GetFile(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	content, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func content(size int) []byte { return bytes.Repeat([]byte(fmt.Sprintf("%d ", size)), size/2)[:size] }
