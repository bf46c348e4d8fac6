package cluster

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/bootstrap/internal/build"
	"github.com/akraino-icn/bpa/bootstrap/internal/images"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// programs are the ones that a set of manifests names by ko://.
type programs struct {
	name   string            // of the set, and of the repository below the depot that takes the images
	module string            // folder of the Go module that the programs are in, relative to the bootstrap module
	tags   string            // Go build tags
	base   map[string]string // image below a program, by import path; StaticImage is that of the others
}

// program finds what ko builds: ko:// and an import path.
var program = regexp.MustCompile(`ko://([a-zA-Z0-9._/-]+)`)

// resolve builds and pushes an image for each program that the manifests name by ko://, and gives the manifests with
// digests: what `ko resolve` does. ko calls go build once for each image, two at a time, so that both compile the packages that
// they share; here one call of go build compiles all of them.
func (c Cluster) resolve(ctx context.Context, manifests []byte, p programs) ([]byte, error) {
	bin := c.Layout.Cache("images", p.name)
	target := build.Target{Name: p.name, Module: p.module, Packages: named(manifests), LDFlags: "-s -w", Tags: p.tags, Local: true}
	b := build.Builder{Source: c.Source, Bin: bin, Stamp: c.Layout.Stamp, Log: c.Log, Progress: c.Progress}
	if _, err := b.Ensure(ctx, target); err != nil {
		return nil, err
	}
	pinned := map[string]string{}
	for _, importPath := range target.Packages {
		var err error
		if pinned[importPath], err = c.pushProgram(ctx, p, importPath, filepath.Join(bin, path.Base(importPath))); err != nil {
			return nil, err
		}
	}
	return program.ReplaceAllFunc(manifests, func(found []byte) []byte { return []byte(pinned[string(found[len("ko://"):])]) }), nil
}

// named lists the programs that manifests name, each once.
func named(manifests []byte) []string {
	var all []string
	for _, found := range program.FindAllSubmatch(manifests, -1) {
		all = append(all, string(found[1]))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// pushProgram gives the image of a program as nodes pull it. It pushes to the depot's local address, from which layers
// of the base can be mounted.
func (c Cluster) pushProgram(ctx context.Context, p programs, importPath, binary string) (string, error) {
	login, err := c.login()
	if err != nil {
		return "", err
	}
	from, special := p.base[importPath]
	if !special {
		from = StaticImage
	}
	base, err := images.Pull(ctx, pushAt+strings.TrimPrefix(from, layout.Depot))
	if err != nil {
		return "", err
	}
	img, err := images.Program(base, binary, path.Base(importPath))
	if err != nil {
		return "", err
	}
	name := "/" + p.name + "/" + path.Base(importPath)
	if _, err := images.Push(ctx, pushAt+name+":latest", img, login); err != nil {
		return "", err
	}
	digest, err := img.Digest()
	if err != nil {
		return "", fmt.Errorf("digest of %s: %w", name, err)
	}
	return pullAt + name + "@" + digest.String(), nil
}

// Where this machine pushes, and what nodes pull from: the same depot. Tests have one of their own.
var pushAt, pullAt = layout.DepotLocal, layout.Depot

// reference finds images of the depot in resolved manifests.
var reference = regexp.MustCompile(regexp.QuoteMeta(layout.Depot) + `/[a-z0-9/._-]+@sha256:[0-9a-f]{64}`)

// complete tells whether the depot holds every image that resolved manifests name.
func complete(ctx context.Context, resolved []byte) bool {
	found := reference.FindAll(resolved, -1)
	for _, ref := range found {
		if !images.Exists(ctx, string(ref)) {
			return false
		}
	}
	return len(found) > 0 && !bytes.Contains(resolved, []byte("ko://"))
}
