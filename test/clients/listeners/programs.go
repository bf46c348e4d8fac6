package listeners

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const callLimit = time.Minute

// Build builds the package pkg, and returns the path of the program. The parameter module is the
// folder of the package's module.
func Build(t *testing.T, module, pkg string) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), filepath.Base(pkg))
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", program, pkg)
	cmd.Dir = module
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, out)
	}
	return program
}

// Machines returns the paths of programs of the bootstrap machine. It fails the test if one is
// missing.
func Machines(t *testing.T, names ...string) (programs []string) {
	t.Helper()
	state := os.Getenv("BPA_STATE")
	if state == "" {
		state = "/var/lib/bpa"
	}
	for _, name := range names {
		program := filepath.Join(state, "bin", name)
		if _, err := os.Stat(program); err != nil {
			t.Fatalf("%v: run make integration, which builds it", err)
		}
		programs = append(programs, program)
	}
	return programs
}

// Run runs a program with additional environment variables and returns its output. It fails the
// test if the program fails.
func Run(t *testing.T, env []string, program string, args ...string) string {
	t.Helper()
	out, err := Try(t, env, program, args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

// Try runs a program with additional environment variables for at most callLimit. It returns the
// output (standard output and error).
func Try(t *testing.T, env []string, program string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), callLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s %s: %w", filepath.Base(program), strings.Join(args, " "), err)
	}
	return string(out), err
}

// root returns the folder of the product's module.
func root(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
