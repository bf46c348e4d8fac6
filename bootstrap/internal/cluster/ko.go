package cluster

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/bootstrap/internal/build"
	"github.com/akraino-icn/bpa/bootstrap/internal/images"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// koConfig is the part of .ko.yaml that this package sets. It names a base image in the depot for
// every program, because ko's default base image is on the Internet.
type koConfig struct {
	DefaultBaseImage   string            `json:"defaultBaseImage"`
	BaseImageOverrides map[string]string `json:"baseImageOverrides,omitempty"`
	DefaultLdflags     []string          `json:"defaultLdflags,omitempty"`
}

// koRun describes one call of `ko resolve`.
type koRun struct {
	name  string // name for messages, and prefix of the image repositories in the depot
	dir   string // folder of the module whose packages are built
	stdin []byte // manifests for ko, which reads them if args are "-f -"
	args  []string
	tags  string            // Go build tags
	base  map[string]string // base image by import path; the other programs use StaticImage
}

// resolve builds the images of the programs that the manifests reference with ko://, and pushes
// them to the depot. It returns the manifests with image digests in place of these references. It
// pushes to the depot's local address, where base images are too, so that their layers are not
// uploaded again. The returned manifests contain the address from which nodes pull.
//
// ko runs go build once for each image, with two builds at a time. Go's cache has no lock, so both
// builds would compile the packages that they share. Therefore resolve first compiles all packages
// with one command, which also reports progress.
func (c Cluster) resolve(ctx context.Context, r koRun) ([]byte, error) {
	b := build.Builder{Source: r.dir, Log: c.Log, Progress: c.Progress}
	if err := b.Compile(ctx, build.Target{Name: r.name, Packages: programs(r.stdin), Tags: r.tags}); err != nil {
		return nil, err
	}
	dir := c.Layout.Cache("ko", r.name)
	text, err := r.config()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, ".ko.yaml"), text, 0o644); err != nil {
		return nil, err
	}
	if _, err := c.login(); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, c.Layout.Bin("ko"), append([]string{"resolve", "--base-import-paths", "--sbom=none", "--jobs=2"}, r.args...)...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "KO_CONFIG_PATH="+dir, "KO_DOCKER_REPO="+layout.DepotLocal+"/"+r.name, "DOCKER_CONFIG="+c.Layout.DockerConfig(),
		"KOCACHE="+c.Layout.Cache("ko", "build"), "GOFLAGS=-trimpath -buildvcs=false -tags="+r.tags, "CGO_ENABLED=0", "GOWORK=off", "GOGC=400")
	cmd.Stdin = bytes.NewReader(r.stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, io.MultiWriter(&errs, c.Log)
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("ko resolve %s: %w: %s", r.name, err, lastLines(errs.String(), 5))
	}
	return c.withPullRefs(out.Bytes()), nil
}

// program matches a reference to a program that ko builds: ko:// followed by an import path.
var program = regexp.MustCompile(`ko://([a-zA-Z0-9._/-]+)`)

// programs lists the import paths that the manifests reference with ko://, each once.
func programs(manifests []byte) []string {
	var all []string
	for _, found := range program.FindAllSubmatch(manifests, -1) {
		all = append(all, string(found[1]))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (r koRun) config() ([]byte, error) {
	c := koConfig{DefaultBaseImage: layout.Push(StaticImage), DefaultLdflags: []string{"-s", "-w"}, BaseImageOverrides: map[string]string{}}
	for path, base := range r.base {
		c.BaseImageOverrides[path] = layout.Push(base)
	}
	return yaml.Marshal(c)
}

// withPullRefs replaces the depot's local address in image references with the address from which
// nodes pull.
func (c Cluster) withPullRefs(manifests []byte) []byte {
	return bytes.ReplaceAll(manifests, []byte(layout.Push("")), []byte(c.Layout.Pull("")))
}

// allImagesExist reports whether the depot has every image that the resolved manifests reference.
// It returns false if they reference none. depot is the beginning of the references.
func allImagesExist(ctx context.Context, depot string, resolved []byte) bool {
	found := references(depot, resolved)
	for _, ref := range found {
		if !images.Exists(ctx, string(ref)) {
			return false
		}
	}
	return len(found) > 0
}

// references returns the images of the depot in resolved manifests.
func references(depot string, resolved []byte) [][]byte {
	return regexp.MustCompile(regexp.QuoteMeta(depot)+`[a-z0-9/._-]+@sha256:[0-9a-f]{64}`).FindAll(resolved, -1)
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
