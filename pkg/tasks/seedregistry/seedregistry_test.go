package seedregistry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/depot/depottest"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
	"github.com/akraino-icn/bpa/pkg/transfer"
)

// fixture holds a depot, and an upstream registry with the artifacts of a list. It records all
// addresses to which the task connects.
type fixture struct {
	site *depottest.Depot
	list artifacts.List
	log  bytes.Buffer

	mu      sync.Mutex
	dialled []string
}

func newFixture(t testing.TB, images int) *fixture {
	t.Helper()
	w := &fixture{site: depottest.Start(t)}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "kubelet") }))
	t.Cleanup(files.Close)
	for n := range images {
		ref, err := name.ParseReference(fmt.Sprintf("%s/project/image-%d:v1", strings.TrimPrefix(server.URL, "http://"), n))
		if err != nil {
			t.Fatal(err)
		}
		image, err := random.Image(1000, 2)
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.Write(ref, image); err != nil {
			t.Fatal(err)
		}
		w.list.Images = append(w.list.Images, artifacts.Image{Ref: ref.String()})
	}
	w.list.Files = []artifacts.File{{Path: "dl.k8s.io/kubelet", URL: files.URL, SHA256: depottest.Sum([]byte("kubelet"))}}
	return w
}

func (w *fixture) dial(ctx context.Context, network, address string) (net.Conn, error) {
	w.mu.Lock()
	w.dialled = append(w.dialled, address)
	w.mu.Unlock()
	return (&net.Dialer{}).DialContext(ctx, network, address)
}

func (w *fixture) input() Input { return Input{List: w.list, Depot: w.site.URL, Connected: true} }

func (w *fixture) closed() Input { return Input{List: w.list, Depot: w.site.URL} }

func (w *fixture) ports() Ports {
	return Ports{
		Depot: func(ctx context.Context, url string) (*client.Depot, error) {
			return client.Connect(ctx, url, client.Options{Dial: w.dial})
		},
		Upstream: func() (transfer.Source, error) { return transfer.NewUpstream(&http.Transport{DialContext: w.dial}) },
		Log:      &w.log,
		Now:      time.Now,
	}
}

func TestConnectedSiteFetches(t *testing.T) {
	w := newFixture(t, 3)
	out, err := Run(t.Context(), w.input(), w.ports())
	if err != nil {
		t.Fatalf("%v\n%s", err, &w.log)
	}
	if want := "3 images and 1 files were fetched ("; !strings.HasPrefix(out.Results()[contract.ResultArtifacts], want) {
		t.Errorf("result %q", out.Summary)
	}
	w.site.Forget()
	w.dialled = nil
	out, err = Run(t.Context(), w.input(), w.ports())
	if err != nil || out.Summary != "all 4 artifacts are in the depot" {
		t.Errorf("the second time: %+v, %v", out, err)
	}
	if w.site.Uploads() > 0 {
		t.Errorf("the second time it sent %v", w.site.Calls())
	}
	w.onlyTheDepot(t)
}

func (w *fixture) onlyTheDepot(t *testing.T) {
	t.Helper()
	if len(w.dialled) == 0 {
		t.Error("no address was dialled: is the dialler in use?")
	}
	for _, address := range w.dialled {
		if "http://"+address != w.site.URL {
			t.Errorf("it connected to %s", address)
		}
	}
}

// On a closed site the task connects only to the depot, no matter which artifacts are missing.
func TestClosedSiteConnectsOnlyToTheDepot(t *testing.T) {
	w := newFixture(t, 3)
	for _, step := range []string{"all is missing", "a part is missing", "nothing is missing"} {
		t.Run(step, func(t *testing.T) {
			w.dialled = nil
			ports := w.ports()
			ports.Upstream = func() (transfer.Source, error) { return nil, errors.New("a closed site has no upstream") }
			out, err := Run(t.Context(), w.closed(), ports)
			w.onlyTheDepot(t)
			if step == "nothing is missing" {
				if err != nil || out.Summary != "all 4 artifacts are in the depot" {
					t.Errorf("%+v, %v", out, err)
				}
				return
			}
			failure := task.FailureOf(err)
			if failure.Reason != contract.ReasonArtifactsMissing || len(failure.Message) > artifacts.MaxShort || !strings.Contains(failure.Message, "project/image-2:v1") ||
				!strings.Contains(failure.Message, "kubectl bpa bundle import FILE --depot "+w.site.URL) {
				t.Errorf("failure %+v", failure)
			}
			// The test copies the first part of the artifacts to the depot, and in the next step
			// the rest.
			part := artifacts.List{Images: w.list.Images[:1], Files: w.list.Files}
			if step == "a part is missing" {
				part = artifacts.List{Images: w.list.Images[1:]}
			}
			copyToDepot(t, w, part)
		})
	}
	if !strings.Contains(w.log.String(), "kubectl bpa bundle create --list missing.json") {
		t.Errorf("the log does not say how to copy missing artifacts:\n%s", &w.log)
	}
}

// Nodes pull kubespray's images by tag. If the list has the digest, another image under the tag ends the run,
// and a seeder, who may not move the tag, cannot repair it.
func TestTagWithAnotherImageEndsTheRun(t *testing.T) {
	w := newFixture(t, 2)
	copyToDepot(t, w, w.list)
	depot, err := client.Connect(t.Context(), w.site.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer depot.Close()
	for n := range w.list.Images {
		place, err := w.list.Images[n].Place()
		if err != nil {
			t.Fatal(err)
		}
		if w.list.Images[n].Digest, err = depot.ImageDigest(t.Context(), place); err != nil || w.list.Images[n].Digest == "" {
			t.Fatal(w.list.Images[n], err)
		}
	}
	if _, err := Run(t.Context(), w.closed(), w.ports()); err != nil {
		t.Fatalf("with the right images: %v", err)
	}
	// A writer moves the tag of the first image to the second one.
	second, err := name.ParseReference(strings.TrimPrefix(w.site.URL, "http://") + "/project/image-1:v1")
	if err != nil {
		t.Fatal(err)
	}
	other, err := remote.Image(second)
	if err != nil {
		t.Fatal(err)
	}
	first := second.Context().Registry.Repo("project/image-0").Tag("v1")
	if err := remote.Write(first, other); err != nil {
		t.Fatal(err)
	}
	_, err = Run(t.Context(), w.closed(), w.ports())
	if failure := task.FailureOf(err); err == nil || failure.Reason != contract.ReasonArtifactsMissing || !strings.Contains(failure.Message, "lacks 1 of 3 artifacts: project/image-0:v1") {
		t.Errorf("failure %v", err)
	}
	if want := "(the depot has " + w.list.Images[1].Digest + ", expected " + w.list.Images[0].Digest + ")"; !strings.Contains(w.log.String(), want) {
		t.Errorf("the log does not say %q:\n%s", want, &w.log)
	}
}

func copyToDepot(t *testing.T, w *fixture, list artifacts.List) {
	t.Helper()
	to, err := client.Connect(t.Context(), w.site.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	from, err := transfer.NewUpstream(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := transfer.ToDepot(t.Context(), list, from, to, transfer.Options{}); err != nil {
		t.Fatal(err)
	}
}

func TestRunFails(t *testing.T) {
	for _, tc := range []struct {
		name    string
		change  func(*Input, *Ports)
		reason  contract.Reason
		message string
	}{
		{"upstream lacks it", func(in *Input, _ *Ports) {
			in.List.Images = append(in.List.Images, artifacts.Image{Ref: strings.Split(in.List.Images[0].Ref, "/")[0] + "/none:v9"})
		}, contract.ReasonArtifactsMissing, "1 of 3 artifacts could not be fetched from upstream: image 127"},
		{"upstream has another file", func(in *Input, _ *Ports) { in.List.Files[0].SHA256 = strings.Repeat("0", 64) }, contract.ReasonArtifactsMissing, "does not match its checksum or size"},
		{"no depot answers", func(in *Input, _ *Ports) { in.Depot = "http://127.0.0.1:1" }, contract.ReasonDepotUnavailable, "does not answer"},
		{"no way upstream", func(_ *Input, p *Ports) {
			p.Upstream = func() (transfer.Source, error) { return nil, errors.New("bad proxy") }
		}, contract.ReasonInternal, "bad proxy"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newFixture(t, 1)
			in, ports := w.input(), w.ports()
			tc.change(&in, &ports)
			_, err := Run(t.Context(), in, ports)
			if err == nil {
				t.Fatal("no error")
			}
			if got := task.FailureOf(err); got.Reason != tc.reason || !strings.Contains(got.Message, tc.message) {
				t.Errorf("failure %+v; want %s with %q", got, tc.reason, tc.message)
			}
		})
	}
}

// On a closed site, all OS packages must be in the depot. The only exception is a depot that has no
// packages for the system at all. On a connected site, nodes can use other sources.
func TestPackages(t *testing.T) {
	jq := artifacts.Package{Name: "jq", System: "debian-12", Architecture: "amd64"}
	tree := artifacts.Package{Name: "tree", System: "debian-12", Architecture: "amd64"}
	index := "Package: jq\nVersion: 1.6\nArchitecture: amd64\nFilename: ./jq.deb\nDepends: libc6\nSHA256: " + depottest.Sum(nil) + "\n"
	for _, tc := range []struct {
		name      string
		index     string // package index of debian-12; empty: the depot has no packages for this system
		connected bool
		list      []artifacts.Package
		summary   string // of a success
		missing   string // part of the failure, if the run fails
		log       string
	}{
		{
			name: "all there", index: index, list: []artifacts.Package{jq}, log: "The depot does not have libc6, which jq needs: nodes must have it already",
			summary: "all 1 artifacts are in the depot; 1 dependency of OS packages must be on the nodes already",
		},
		{
			name: "one missing", index: index, list: []artifacts.Package{jq, tree}, missing: "lacks 1 of 2 artifacts: tree:amd64",
			log: "kubectl bpa bundle create --list missing.json --system debian-12 --output missing.tar",
		},
		{
			name: "one missing, and the Internet", index: index, connected: true, list: []artifacts.Package{jq, tree}, log: "Package tree:amd64 of debian-12 is not in the depot",
			summary: "all 1 artifacts are in the depot; nodes fetch 1 OS package from their own sources; 1 dependency of OS packages must be on the nodes already",
		},
		{
			name: "no packages in this depot", list: []artifacts.Package{jq}, log: "no OS packages for debian-12 (folder /files/apt/debian-12)",
			summary: "the run needs no artifacts; it has no OS packages for debian-12, so nodes use their own sources",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := &fixture{site: depottest.Start(t)}
			if tc.index != "" {
				w.site.Put(t, artifacts.IndexPath("debian-12"), []byte(tc.index))
			}
			out, err := Run(t.Context(), Input{List: artifacts.List{Packages: tc.list}, Depot: w.site.URL, Connected: tc.connected}, w.ports())
			if out.Summary != tc.summary || (err != nil) != (tc.missing != "") {
				t.Errorf("summary %q, %v; want %q", out.Summary, err, tc.summary)
			}
			if tc.missing != "" {
				if got := task.FailureOf(err); got.Reason != contract.ReasonArtifactsMissing || !strings.Contains(got.Message, tc.missing) {
					t.Errorf("failure %+v; want %q", got, tc.missing)
				}
			}
			if !strings.Contains(w.log.String(), tc.log) {
				t.Errorf("the log does not say %q:\n%s", tc.log, &w.log)
			}
		})
	}
}

func TestNoDepot(t *testing.T) {
	out, err := Run(t.Context(), Input{}, Ports{Log: io.Discard})
	if err != nil || out.Summary != "no depot" {
		t.Errorf("Run = %+v, %v", out, err)
	}
}

// An OS image from the depot is added to the list of artifacts. An OS image from another server is
// not added.
func TestOSImageOfTheDepotIsWanted(t *testing.T) {
	request := contract.Request{Spec: contract.Spec{DepotURL: "https://d:5443", OSImage: &contract.OSImage{URL: "https://d:5443/files/os_images/a/b/c"}}}
	list := artifacts.List{Files: []artifacts.File{{Path: "x"}}}
	got := WithOSImage(list, request)
	if len(got.Files) != 2 || got.Files[1].Path != "os_images/a/b/c" || len(list.Files) != 1 {
		t.Errorf("files %+v", got.Files)
	}
	request.OSImage.URL = "http://d:5000/files/os_images/a/b/c"
	if got := WithOSImage(list, request); len(got.Files) != 2 {
		t.Errorf("from the depot's plain HTTP listener: files %+v", got.Files)
	}
	for _, url := range []string{"https://elsewhere/files/os_images/a/b/c", "https://d:5443.evil/files/x"} {
		request.OSImage.URL = url
		if got := WithOSImage(list, request); len(got.Files) != 1 {
			t.Errorf("%s: files %+v", url, got.Files)
		}
	}
	request.OSImage = &contract.OSImage{URL: "http://172.22.0.1/files/os_images/a/b/c", Uploaded: true} // Ironic's own network
	if got := WithOSImage(list, request); len(got.Files) != 2 || UploadedImage(request) != "os_images/a/b/c" {
		t.Errorf("an upload by another address of the depot: files %+v, the digest of %q", got.Files, UploadedImage(request))
	}
}
