package bundle

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/akraino-icn/bpa/pkg/depot"
	"github.com/akraino-icn/bpa/pkg/depot/depottest"
	"github.com/akraino-icn/bpa/pkg/depot/files"
	"github.com/akraino-icn/bpa/pkg/depot/scrub"
	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// If scrub has set damaged content aside, the depot no longer reports this content as present. An
// import of the same bundle therefore stores it again.
func TestImportBringsBackWhatScrubSetAside(t *testing.T) {
	b := open(t, newFixture(t).pack(t, 0))
	site := depottest.Start(t)
	to := connect(t, site)
	if _, err := Import(t.Context(), b, to, io.Discard); err != nil {
		t.Fatal(err)
	}
	damageLayer(t, site.Dir)
	keptStore, err := store.OnDisk(t.Context(), filepath.Join(site.Dir, depot.RegistryDir))
	if err != nil {
		t.Fatal(err)
	}
	var damaged []scrub.Damage
	if _, err := scrub.Run(t.Context(), keptStore, func(d scrub.Damage) { damaged = append(damaged, d) }); err != nil || len(damaged) != 1 {
		t.Fatalf("damaged: %v, %v; want one blob", damaged, err)
	}
	if err := scrub.SetAside(t.Context(), keptStore, damaged[0]); err != nil {
		t.Fatal(err)
	}
	if err := files.SetAside(site.Dir, "dl.k8s.io/kubelet"); err != nil {
		t.Fatal(err)
	}
	done, err := Import(t.Context(), b, to, io.Discard)
	if err != nil || done.Images != 1 || done.Files != 1 {
		t.Errorf("imported %d images and %d files, %v; want the artifacts that were set aside", done.Images, done.Files, err)
	}
	for _, repository := range []string{"kube-proxy", "coredns/coredns"} {
		image, err := remote.Image(to.Repository(repository).Tag("v1"), to.Remote()...)
		if err == nil {
			err = validate.Image(image)
		}
		if err != nil {
			t.Errorf("%s: %v", repository, err)
		}
	}
	resp, err := http.Get(site.URL + "/files/dl.k8s.io/kubelet")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != strings.Repeat("kubelet", 10_000) {
		t.Errorf("the file has %d bytes, %v", len(body), err)
	}
}

// damageLayer flips a bit of one layer of kube-proxy.
func damageLayer(t *testing.T, dir string) {
	t.Helper()
	links, err := filepath.Glob(filepath.Join(dir, "registry/docker/registry/v2/repositories/kube-proxy/_layers/sha256/*"))
	if err != nil || len(links) == 0 {
		t.Fatalf("%d layers, %v", len(links), err)
	}
	for _, link := range links {
		sum := filepath.Base(link)
		path := filepath.Join(dir, "registry/docker/registry/v2/blobs/sha256", sum[:2], sum, "data")
		body, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if body[0] == '{' {
			continue // the config
		}
		body[len(body)/2] ^= 1
		if err := os.WriteFile(path, body, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatal("no layer")
}
