package artifacts

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"

	"github.com/akraino-icn/bpa/test/lab/stamp"
)

// goBuild builds packages of the module in dir (relative to the repository) into the folder out. It
// does nothing if the files of the module, the flags and the Go version did not change since the
// last build.
func (b *Builder) goBuild(ctx context.Context, dir, ldflags string, out string, packages ...string) error {
	return b.goBuildWith(ctx, dir, []string{"-ldflags=-s -w " + ldflags}, out, packages...)
}

// goBuildWith is goBuild with more flags of go build.
func (b *Builder) goBuildWith(ctx context.Context, dir string, flags []string, out string, packages ...string) error {
	module := filepath.Join(b.Source, dir)
	sources, err := stamp.ContentKey(module)
	if err != nil {
		return err
	}
	args := slices.Concat([]string{"build", "-trimpath"}, flags, []string{"-o", out + "/"}, packages)
	var outputs []string
	for _, p := range packages {
		outputs = append(outputs, filepath.Join(out, program(p)))
	}
	key := stamp.Key(append([]string{sources, runtime.Version()}, args...)...)
	return b.once("build "+filepath.Base(out), key, outputs, func() error {
		if err := os.MkdirAll(out, 0o755); err != nil {
			return err
		}
		return run(ctx, module, []string{"CGO_ENABLED=0", "GOGC=400"}, "go", args...)
	})
}

// program returns the name that go build gives to the program of a package. If the last path
// element is a version such as v3, go build uses the element before it.
func program(pkg string) string {
	if major.MatchString(filepath.Base(pkg)) {
		pkg = filepath.Dir(pkg)
	}
	return filepath.Base(pkg)
}

var major = regexp.MustCompile(`^v[0-9]+$`)
