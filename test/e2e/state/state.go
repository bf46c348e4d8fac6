package state

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
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

// Differences returns the lines that only the state before has, with a -, and those that only the state after
// has, with a +, without those that are accepted. It returns an empty string if there are none.
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
	return compare(keep(before), keep(after))
}

// mostLines is how many different lines are shown.
const mostLines = 200

// compare returns the lines that only one of two states has, sorted. A line can occur several times.
func compare(before, after []string) string {
	count := map[string]int{}
	for _, line := range before {
		count[line]--
	}
	for _, line := range after {
		count[line]++
	}
	var different []string
	for _, line := range slices.Sorted(maps.Keys(count)) {
		sign := "+ "
		if count[line] < 0 {
			sign = "- "
		}
		different = append(different, slices.Repeat([]string{sign + line}, max(count[line], -count[line]))...)
	}
	if more := len(different) - mostLines; more > 0 {
		different = append(different[:mostLines], fmt.Sprintf("and %d lines more", more))
	}
	return strings.Join(different, "\n")
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
