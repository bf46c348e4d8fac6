package build

import (
	"io"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

func TestProgressCountsPackagesAndNothingElse(t *testing.T) {
	var p Progress
	if got := p.String(); got != "" {
		t.Errorf("before the build: %q", got)
	}
	io.WriteString(&p, "go: downloading example.org/a v1.0.0\nexample.org/a\nexample.org/a/b\n")
	if got, want := p.String(), "2 packages compiled"; got != want {
		t.Errorf("without a total: %q, want %q", got, want)
	}
	p.total.Store(3)
	io.WriteString(&p, "# example.org/a/c\n./c.go:1:1: expected 'package'\n")
	if got, want := p.String(), "2 of 3 packages compiled"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The real go command lists the packages that its cache lacks. Here these are two packages that
// were never compiled before.
func TestProgressShowsTheTotal(t *testing.T) {
	b, target := project(t)
	fresh := strconv.Quote(t.TempDir())
	write(t, filepath.Join(b.Source, "modules/kube/word/word.go"), "package word\n\nconst Word = "+fresh+"\n")
	write(t, filepath.Join(b.Source, "modules/kube/main.go"), "package main\n\nimport \"example.org/hello/word\"\n\nfunc main() { println(word.Word) }\n")
	b.Progress = &Progress{}
	b.Progress.countAfter(t.Context(), time.Nanosecond, filepath.Join(b.Source, "modules/kube"), target.flags(), target.Packages)
	ensure(t, b, target, true)
	if got, want := b.Progress.String(), "2 of 2 packages compiled"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// After Compile, all packages are in Go's cache, so that the next build only links.
func TestCompileLeavesOnlyTheLink(t *testing.T) {
	b, target := project(t)
	write(t, filepath.Join(b.Source, "modules/kube/word/word.go"), "package word\n\nconst Word = "+strconv.Quote(t.TempDir())+"\n")
	write(t, filepath.Join(b.Source, "modules/kube/main.go"), "package main\n\nimport \"example.org/hello/word\"\n\nfunc main() { println(word.Word) }\n")
	b.Progress = &Progress{}
	if err := b.Compile(t.Context(), target); err != nil {
		t.Fatal(err)
	}
	if got, want := b.Progress.compiled.Load(), int64(2); got != want {
		t.Errorf("%d packages compiled, want %d", got, want)
	}
	b.Progress = &Progress{}
	ensure(t, b, target, true)
	if got := b.Progress.compiled.Load(); got != 0 {
		t.Errorf("the build compiled %d packages again", got)
	}
}
