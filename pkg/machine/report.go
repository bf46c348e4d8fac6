package machine

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Limits of a report, because a machine can have thousands of mounts, and a report becomes a message.
const (
	mostLeft  = 200
	mostBytes = 300 // of one item
)

// parse parses the output of inspect.sh. It ignores lines of another form.
func parse(text string) Report {
	var r Report
	for line := range strings.Lines(text) {
		kind, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch {
		case value == "":
		case kind == "user":
			if raw, err := base64.StdEncoding.DecodeString(value); err == nil {
				r.User = contract.ParseUser(strings.TrimSpace(string(raw)))
			}
		case kind == "kubernetes":
			r.Kubernetes = append(r.Kubernetes, printable(value))
		case kind == "left":
			r.Left = append(r.Left, printable(value))
		}
	}
	for _, found := range r.Kubernetes {
		if !slices.Contains(r.Left, found) {
			r.Left = append(r.Left, found)
		}
	}
	r.Kubernetes, r.Left = bound(r.Kubernetes), bound(r.Left)
	return r
}

// bound replaces the items over the limit by one with their number.
func bound(items []string) []string {
	over := len(items) - mostLeft
	if over <= 0 {
		return items
	}
	return append(items[:mostLeft:mostLeft], fmt.Sprintf("and %d more", over))
}

// printable cuts a text, and replaces its characters that could change the display of a terminal.
func printable(text string) string {
	if len(text) > mostBytes {
		text = text[:mostBytes] + "..."
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\uFFFD' || r >= 0x80 && r < 0xa0 {
			return '?'
		}
		return r
	}, text)
}
