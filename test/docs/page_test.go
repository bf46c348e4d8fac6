package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fence is a fenced block of a page.
type fence struct {
	page string
	line int // of its first line, from 1
	kind string
	text string
}

// fences reads the fenced blocks of a page.
func fences(t *testing.T, path string) []fence {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var found []fence
	var open *fence
	for n, line := range strings.Split(string(raw), "\n") {
		kind, ticks := strings.CutPrefix(line, "```")
		switch {
		case ticks && open == nil:
			open = &fence{page: filepath.Base(path), line: n + 2, kind: kind}
		case ticks:
			found, open = append(found, *open), nil
		case open != nil:
			open.text += line + "\n"
		}
	}
	if open != nil {
		t.Fatalf("%s:%d: the block does not end", path, open.line)
	}
	return found
}

// pages are the pages that people read, README among them.
func pages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(found) < 4 {
		t.Fatalf("%v: %d pages: have they moved?", err, len(found))
	}
	return append(found, "../../README.md")
}
