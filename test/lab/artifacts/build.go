package artifacts

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"runtime"

	"github.com/akraino-icn/bpa/test/lab/stamp"
)

// goBuild builds packages of the module in dir (relative to the repository) into the folder out, unless the module's
// files and the flags are those of last time.
func (s *Site) goBuild(ctx context.Context, dir, ldflags string, out string, packages ...string) error {
	module := filepath.Join(s.Source, dir)
	sources, err := stamp.Content(module)
	if err != nil {
		return err
	}
	args := append([]string{"build", "-trimpath", "-ldflags=-s -w " + ldflags, "-o", out + "/"}, packages...)
	var outputs []string
	for _, p := range packages {
		outputs = append(outputs, filepath.Join(out, program(p)))
	}
	key := stamp.Key(append([]string{sources, runtime.Version()}, args...)...)
	return s.once("build "+filepath.Base(out), key, outputs, func() error {
		if err := os.MkdirAll(out, 0o755); err != nil {
			return err
		}
		return run(ctx, module, []string{"CGO_ENABLED=0", "GOGC=400"}, "go", args...)
	})
}

// program is the name that go build gives the program of a package: a last part such as v3 does not count.
func program(pkg string) string {
	if major.MatchString(filepath.Base(pkg)) {
		pkg = filepath.Dir(pkg)
	}
	return filepath.Base(pkg)
}

var major = regexp.MustCompile(`^v[0-9]+$`)
