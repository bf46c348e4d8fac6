package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`^#+ (.*)$`)
	// notInAnchor are the characters that the anchor of a heading leaves out.
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// TestLinks: each link between pages leads to a file, and to a heading of it if it names one.
func TestLinks(t *testing.T) {
	n := 0
	for _, page := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(prose(t, page), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			n++
			target, anchor, _ := strings.Cut(m[1], "#")
			path := page
			if target != "" {
				path = filepath.Join(filepath.Dir(page), target)
			}
			switch _, err := os.Stat(path); {
			case err != nil:
				t.Errorf("%s: %s: %v", page, m[1], err)
			case anchor != "" && filepath.Ext(path) == ".md" && !slices.Contains(anchors(t, path), anchor):
				t.Errorf("%s: %s: the page has no such heading", page, m[1])
			}
		}
	}
	if n < 150 {
		t.Errorf("only %d links", n)
	}
}

// TestHeadingsDiffer: a page with two headings of one name has one of them that no link can reach.
func TestHeadingsDiffer(t *testing.T) {
	for _, page := range pages(t) {
		all := anchors(t, page)
		if filepath.Base(page) == "api.md" { // generated: each kind has a spec
			continue
		}
		for i, name := range all {
			if slices.Contains(all[:i], name) {
				t.Errorf("%s has two headings with the anchor %s", page, name)
			}
		}
	}
}

// TestEachPageIsInTheIndex: docs/README.md leads to each page.
func TestEachPageIsInTheIndex(t *testing.T) {
	index, err := os.ReadFile("../../docs/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages(t) {
		if name := filepath.Base(page); name != "README.md" && !strings.Contains(string(index), "]("+name) {
			t.Errorf("docs/README.md has no link to %s", name)
		}
	}
}

// prose returns a page without its fenced blocks.
func prose(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var text []string
	fenced := false
	for line := range strings.Lines(string(raw)) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		} else if !fenced {
			text = append(text, line)
		}
	}
	return strings.Join(text, "")
}

// anchors returns the anchors of the headings of a page.
func anchors(t *testing.T, path string) (all []string) {
	t.Helper()
	for line := range strings.Lines(prose(t, path)) {
		if m := heading.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			all = append(all, strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
		}
	}
	return all
}
