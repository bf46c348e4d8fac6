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

// Build compiles a command of the module in a folder.
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

// Machines gives programs that the bootstrap machine was built of.
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

// Run gives what a command says, and ends the test if it fails.
func Run(t *testing.T, env []string, program string, args ...string) string {
	t.Helper()
	out, err := Try(t, env, program, args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

// Try gives what a command says in this environment and more, within a time limit.
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

// root is the folder of this module.
func root(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
