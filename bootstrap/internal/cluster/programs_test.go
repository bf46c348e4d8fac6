package cluster

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/akraino-icn/bpa/bootstrap/internal/images"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

func TestNamedFindsEveryProgramOnce(t *testing.T) {
	text := "image: ko://example.org/cmd/b\nargs: [\"-image\", \"ko://example.org/cmd/a\", ko://example.org/cmd/b]\n"
	if diff := cmp.Diff([]string{"example.org/cmd/a", "example.org/cmd/b"}, named([]byte(text))); diff != "" {
		t.Error(diff)
	}
}

// The whole way on a registry of the test: two programs of a module, one on a base of its own.
func TestResolveBuildsAndPushesWhatManifestsName(t *testing.T) {
	host := withDepot(t)
	root := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("source/m/go.mod", "module example.org/m\n\ngo 1.26.0\n")
	write("source/m/cmd/a/main.go", "package main\n\nfunc main() { println(\"a\") }\n")
	write("source/m/cmd/b/main.go", "package main\n\nfunc main() { println(\"b\") }\n")
	write("state/depot/local-token", "token")
	for ref, certs := range map[string]string{"/base/static:latest": "plain", "/base/other:latest": "other"} {
		img, err := images.Static([]byte(certs), "amd64")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := images.Push(t.Context(), host+ref, img, authn.Anonymous); err != nil {
			t.Fatal(err)
		}
	}
	c := Cluster{Layout: layout.Layout{Root: filepath.Join(root, "state")}, Source: filepath.Join(root, "source"), Log: io.Discard}
	resolved, err := c.resolve(t.Context(), []byte("a: ko://example.org/m/cmd/a\nb: \"ko://example.org/m/cmd/b\"\n"), programs{
		name: "set", module: "m", base: map[string]string{"example.org/m/cmd/b": layout.Depot + "/base/other:latest"},
	})
	if err != nil {
		t.Fatal(err)
	}
	found := reference.FindAllString(string(resolved), -1)
	if len(found) != 2 || !complete(t.Context(), resolved) {
		t.Fatalf("resolved to\n%s", resolved)
	}
	for i, name := range []string{"a", "b"} {
		img, err := images.Pull(t.Context(), found[i])
		if err != nil {
			t.Fatal(err)
		}
		config, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"/ko-app/" + name}; !strings.Contains(found[i], "/set/"+name+"@") || !slices.Equal(config.Config.Entrypoint, want) {
			t.Errorf("%s starts %v, want %v", found[i], config.Config.Entrypoint, want)
		}
	}
}
