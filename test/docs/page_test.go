package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fence is a fenced block of a page.
type fence struct {
	page string // file name
	line int    // number of the block's first line, from 1
	kind string // text after the opening backticks, such as yaml
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

// pages returns the paths of the pages in docs/ and of the README.
func pages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(found) < 4 {
		t.Fatalf("%v: found %d pages in docs/, want at least 4", err, len(found))
	}
	return append(found, "../../README.md")
}
