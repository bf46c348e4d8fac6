package transfer

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/depot/depottest"
)

func TestEverythingArrives(t *testing.T) {
	net, site := newInternet(t), depottest.Start(t)
	to := connect(t, site)
	images := family(t, 3, 3000, 1000)
	list := artifacts.List{Files: []artifacts.File{net.offer("dl.example/a/kubelet", content(100_000)), net.offer("dl.example/empty", nil)}}
	for n, image := range images {
		list.Images = append(list.Images, net.publish(fmt.Sprintf("project/part-%d:v1", n), image))
	}
	several := forPlatforms(t, "amd64", "arm64")
	list.Images = append(list.Images, net.publish("several:v2", several))

	var log bytes.Buffer
	done, err := ToDepot(t.Context(), list, upstream(t), to, Options{Log: &log})
	if err != nil {
		t.Fatal(err)
	}
	if done.Images != 4 || done.Files != 2 || !missing(t, to, list).Nothing() {
		t.Errorf("done %+v; missing %v", done, missing(t, to, list).List)
	}
	for n, image := range images {
		got, err := remote.Image(to.Repository(fmt.Sprintf("project/part-%d", n)).Tag("v1"), to.Remote()...)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Image(got); err != nil {
			t.Errorf("part-%d: %v", n, err)
		}
		if got, want := digestOf(t, got), digestOf(t, image); got != want {
			t.Errorf("part-%d is %s, upstream has %s", n, got, want)
		}
	}
	index, err := remote.Index(to.Repository("several").Tag("v2"), to.Remote()...)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil || digestOf(t, index) != digestOf(t, several) {
		t.Errorf("the index: %v", err)
	}
	if !bytes.Equal(read(t, to, "dl.example/a/kubelet"), content(100_000)) || len(read(t, to, "dl.example/empty")) > 0 {
		t.Error("the files are not upstream's")
	}
	if !strings.Contains(log.String(), "[100%] 00:0") || !strings.Contains(log.String(), "dl.example/a/kubelet  97.7 KiB") {
		t.Errorf("the log:\n%s", &log)
	}
}

// A base layer of three images is fetched once and sent once.
func TestSharedLayersTravelOnce(t *testing.T) {
	net, site := newInternet(t), depottest.Start(t)
	images := family(t, 3, 3000, 10)
	var list artifacts.List
	for n, image := range images {
		list.Images = append(list.Images, net.publish(fmt.Sprintf("part-%d:v1", n), image))
	}
	net.forget()
	if _, err := ToDepot(t.Context(), list, upstream(t), connect(t, site), Options{}); err != nil {
		t.Fatal(err)
	}
	layers, err := images[0].Layers()
	if err != nil {
		t.Fatal(err)
	}
	base := digestOf(t, layers[0])
	got := 0
	for n := range images {
		got += net.count(fmt.Sprintf("registry GET /v2/part-%d/blobs/%s", n, base))
	}
	if got != 1 {
		t.Errorf("the base layer was fetched %d times", got)
	}
	sent := 0
	for _, c := range site.Calls() {
		if strings.HasPrefix(c, "PUT ") && strings.Contains(c, "/blobs/uploads/") {
			sent++
		}
	}
	if want := 1 + 3 + 3; sent != want { // the base, each image's own layer, each image's configuration
		t.Errorf("%d blobs were sent, want %d", sent, want)
	}
}

// An interrupted transfer resumes where it stopped: blobs that arrived are not fetched again.
func TestResumes(t *testing.T) {
	net, site := newInternet(t), depottest.Start(t)
	to := connect(t, site)
	image, err := random.Image(2000, 4)
	if err != nil {
		t.Fatal(err)
	}
	list := artifacts.List{Images: []artifacts.Image{net.publish("big:v1", image)}}
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range layers[:3] {
		if err := to.PutBlob(t.Context(), "big", "", l); err != nil {
			t.Fatal(err)
		}
	}
	net.forget()
	done, err := ToDepot(t.Context(), list, upstream(t), connect(t, site), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := net.count("registry GET /v2/big/blobs/"); got != 2 { // the last layer and the configuration
		t.Errorf("%d blobs were fetched", got)
	}
	var there int64
	for _, l := range layers[:3] {
		size, err := l.Size()
		if err != nil {
			t.Fatal(err)
		}
		there += size
	}
	if done.There != there {
		t.Errorf("There is %d bytes, want %d", done.There, there)
	}
}

func TestPlatforms(t *testing.T) {
	net, site := newInternet(t), depottest.Start(t)
	to := connect(t, site)
	all := forPlatforms(t, "amd64", "arm64", "s390x")
	some := Options{Platforms: []v1.Platform{{OS: "linux", Architecture: "amd64"}, {OS: "linux", Architecture: "arm64"}}}
	free := net.publish("free:v1", all)
	fixed := net.publish("fixed:v1", all)
	fixed.Digest = digestOf(t, all)
	if _, err := ToDepot(t.Context(), artifacts.List{Images: []artifacts.Image{free, fixed}}, upstream(t), to, some); err != nil {
		t.Fatal(err)
	}
	for repository, want := range map[string]int{"free": 2, "fixed": 3} {
		index, err := remote.Index(to.Repository(repository).Tag("v1"), to.Remote()...)
		if err != nil {
			t.Fatal(err)
		}
		manifest, err := index.IndexManifest()
		if err != nil {
			t.Fatal(err)
		}
		if len(manifest.Manifests) != want {
			t.Errorf("%s has %d platforms, want %d", repository, len(manifest.Manifests), want)
		}
		if err := validate.Index(index); err != nil {
			t.Errorf("%s: %v", repository, err)
		}
	}
	_, err := ToDepot(t.Context(), artifacts.List{Images: []artifacts.Image{net.publish("other:v1", forPlatforms(t, "s390x"))}}, upstream(t), to, some)
	if err == nil || !strings.Contains(err.Error(), "none of its 1 manifests is for") {
		t.Errorf("of an image for none of the platforms: %v", err)
	}
}

// If some artifacts fail, the others are copied, and the failed ones leave nothing in the depot.
func TestFailures(t *testing.T) {
	net, site := newInternet(t), depottest.Start(t)
	to := connect(t, site)
	image, err := random.Image(100, 1)
	if err != nil {
		t.Fatal(err)
	}
	good := artifacts.List{Images: []artifacts.Image{net.publish("good:v1", image)}, Files: []artifacts.File{net.offer("good", content(10))}}
	moved := net.publish("moved:v1", image)
	moved.Digest = "sha256:" + depottest.Sum(nil)
	changed := net.offer("changed", content(50_000))
	changed.SHA256 = depottest.Sum(nil)
	changed512 := net.offer("changed512", content(10))
	changed512.SHA256, changed512.SHA512 = "", strings.Repeat("0", 128)
	short := net.offer("short", content(10))
	short.Size = 11
	list := artifacts.List{
		Images: append([]artifacts.Image{{Ref: net.host + "/none:v1"}, moved}, good.Images...),
		Files:  append([]artifacts.File{{Path: "none", URL: net.files.URL + "/none"}, changed, changed512, short}, good.Files...),
	}
	done, err := ToDepot(t.Context(), list, upstream(t), to, Options{})
	if err == nil || done.Images != 1 || done.Files != 1 || !missing(t, to, good).Nothing() {
		t.Fatalf("done %+v, %v; want the good artifacts, and an error", done, err)
	}
	for _, part := range []string{"and 1 more"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}
	if got := missing(t, to, list); got.Size() != 6 {
		t.Errorf("%d are missing: %v", got.Size(), got.List)
	}
	_, err = ToDepot(t.Context(), artifacts.List{Files: []artifacts.File{changed}}, upstream(t), to, Options{})
	if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "changed") {
		t.Errorf("of a changed file: %v", err)
	}
	if _, there, err := to.FileState(t.Context(), "changed", false); there || err != nil {
		t.Errorf("a file with another content is there: %v, %v", there, err)
	}
}

// The depot needs the size of a file at the start of the request, but the source's server may not
// send the size.
func TestFileOfUnknownSize(t *testing.T) {
	site := depottest.Start(t)
	to := connect(t, site)
	for _, size := range []int{0, 100_000, maxHeld + 1} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).Flush() // from here on it is sent in chunks
			_, _ = w.Write(make([]byte, size))
		}))
		path := fmt.Sprintf("size/%d", size)
		_, err := ToDepot(t.Context(), artifacts.List{Files: []artifacts.File{{Path: path, URL: server.URL}}}, upstream(t), to, Options{})
		server.Close()
		if size > maxHeld {
			if err == nil || !strings.Contains(err.Error(), "add the size to the list") {
				t.Errorf("%d bytes: %v", size, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%d bytes: %v", size, err)
		} else if got := read(t, to, path); len(got) != size {
			t.Errorf("%d bytes: %d arrived", size, len(got))
		}
	}
}

// No server has the files that users upload to a depot, so the first folder of such a file is not
// used as the name of a server.
func TestUploadsAreNotUpstream(t *testing.T) {
	site := connect(t, depottest.Start(t))
	for _, path := range []string{"os_images/alpha/beta/jammy.img", "apt/debian-12/jq_1.6_amd64.deb"} {
		_, err := ToDepot(t.Context(), artifacts.List{Files: []artifacts.File{{Path: path}}}, upstream(t), site, Options{})
		if err == nil || !strings.Contains(err.Error(), "file "+path+": no server has it") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
