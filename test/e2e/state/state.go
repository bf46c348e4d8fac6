package state

import (
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// Lines returns the lines of a script's output as "SECTION: LINE". A section begins with "== NAME".
func Lines(output string) (lines []string) {
	section := ""
	for line := range strings.Lines(output) {
		line = strings.TrimRight(line, " \n")
		if name, begins := strings.CutPrefix(line, "== "); begins {
			section = name
		} else if line != "" {
			lines = append(lines, section+": "+line)
		}
	}
	return lines
}

// Accepted are differences that are right: a regular expression for the lines, and the reason.
type Accepted map[string]string

// Differences returns the differences of two states that are not accepted, or an empty string.
func (a Accepted) Differences(before, after []string) string {
	var skip *regexp.Regexp
	if len(a) > 0 {
		all := make([]string, 0, len(a))
		for expression := range a {
			all = append(all, "(?:"+expression+")")
		}
		skip = regexp.MustCompile(strings.Join(all, "|"))
	}
	keep := func(lines []string) (kept []string) {
		for _, line := range lines {
			if skip == nil || !skip.MatchString(line) {
				kept = append(kept, line)
			}
		}
		return kept
	}
	return cmp.Diff(keep(before), keep(after))
}

// Rule replaces what differs between any two installations of the same cluster, such as a random
// number. With may refer to groups of the expression.
type Rule struct{ Expression, With string }

// Normal returns the sorted lines after all replacements. names has the name of a node for each of
// its addresses.
func Normal(lines []string, names map[string]string, rules []Rule) []string {
	type replacement struct {
		find *regexp.Regexp
		with string
	}
	var all []replacement
	for address, name := range names {
		all = append(all, replacement{regexp.MustCompile(`\b` + regexp.QuoteMeta(address) + `\b`), "<address of " + name + ">"})
	}
	for _, r := range rules {
		all = append(all, replacement{regexp.MustCompile(r.Expression), r.With})
	}
	normal := make([]string, 0, len(lines))
	for _, line := range lines {
		for _, r := range all {
			line = r.find.ReplaceAllString(line, r.with)
		}
		normal = append(normal, line)
	}
	slices.Sort(normal)
	return normal
}
