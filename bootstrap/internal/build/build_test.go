package build

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// project returns a Builder and a Target for a bootstrap module with one small program in
// modules/kube.
func project(t *testing.T) (Builder, Target) {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, "src/modules/kube/go.mod"), "module example.org/hello\n\ngo 1.26.0\n")
	write(t, filepath.Join(root, "src/modules/kube/main.go"), program("one"))
	b := Builder{
		Source: filepath.Join(root, "src"), Bin: filepath.Join(root, "bin"), Log: io.Discard,
		Stamp: func(name string) string { return filepath.Join(root, "stamps", name) },
	}
	return b, Target{Name: "hello", Module: "modules/kube", Packages: []string{"example.org/hello"}, Links: []string{"hi"}}
}

func program(word string) string {
	return "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"" + word + "\") }\n"
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func ensure(t *testing.T, b Builder, target Target, want bool) {
	t.Helper()
	built, err := b.Ensure(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	if built != want {
		t.Errorf("built: %t, want %t", built, want)
	}
}

func wantOutput(t *testing.T, b Builder, name, want string) {
	t.Helper()
	out, err := exec.Command(filepath.Join(b.Bin, name)).Output()
	if got := strings.TrimSpace(string(out)); err != nil || got != want {
		t.Errorf("%s prints %q (%v), want %q", name, got, err, want)
	}
}

func TestBuildsOnceAndAgainForNewSource(t *testing.T) {
	b, target := project(t)
	ensure(t, b, target, true)
	wantOutput(t, b, "hi", "one")
	ensure(t, b, target, false)
	write(t, filepath.Join(b.Source, "modules/kube/main.go"), program("two"))
	ensure(t, b, target, true)
	wantOutput(t, b, "hello", "two")
	if err := os.Remove(filepath.Join(b.Bin, "hi")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Ensure(t.Context(), target); err != nil { // Ensure builds an identical program, so it replaces nothing
		t.Fatal(err)
	}
	wantOutput(t, b, "hi", "two")
}

func TestAnUnchangedProgramKeepsItsTimeStamp(t *testing.T) {
	b, target := project(t)
	target.Local = true // the go command runs each time, whatever the stamp contains
	ensure(t, b, target, true)
	past := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	path := filepath.Join(b.Bin, "hello")
	if err := os.Chtimes(path, past, past); err != nil {
		t.Fatal(err)
	}
	ensure(t, b, target, false)
	if info, err := os.Stat(path); err != nil || !info.ModTime().Equal(past) {
		t.Errorf("replaced by an identical program: %v, %v", info.ModTime(), err)
	}
}

// Linking takes most of the time of a build from Go's cache, so Ensure must not link an unchanged
// program again.
func TestAnUnchangedProgramIsNotLinkedAgain(t *testing.T) {
	b, target := project(t)
	target.Local = true
	ensure(t, b, target, true)
	var output strings.Builder
	b.Log = &output
	t.Setenv("GOFLAGS", os.Getenv("GOFLAGS")+" -x")
	ensure(t, b, target, false)
	if strings.Contains(output.String(), "/link ") {
		t.Errorf("linked again:\n%s", output.String())
	}
}

func TestAFailedBuildReportsTheErrorAndKeepsTheOldProgram(t *testing.T) {
	b, target := project(t)
	ensure(t, b, target, true)
	write(t, filepath.Join(b.Source, "modules/kube/main.go"), "package main\n\nfunc main() { nonsense }\n")
	if _, err := b.Ensure(t.Context(), target); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("error %v, want the message of the compiler", err)
	}
	wantOutput(t, b, "hello", "one")
	if left, _ := filepath.Glob(filepath.Join(b.Bin, ".new-*")); len(left) > 0 {
		t.Errorf("left behind %v", left)
	}
}

func TestFindSource(t *testing.T) {
	b, _ := project(t)
	for _, dir := range []string{b.Source, filepath.Join(b.Source, "modules", "kube")} {
		if got, err := FindSource(dir); err != nil || got != b.Source {
			t.Errorf("from %s: %q, %v", dir, got, err)
		}
	}
	if got, err := FindSource(t.TempDir()); err == nil {
		t.Errorf("outside of any checkout: %q, want an error", got)
	}
}
