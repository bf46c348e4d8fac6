package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/check"
)

// checkReport is the output of "kubectl bpa check", as JSON or as a page.
type checkReport struct {
	// Hosts were asked, NotAsked were not.
	Hosts    []checkedHost `json:"hosts"`
	NotAsked []notAsked    `json:"notAsked,omitempty"`
	Skipped  []string      `json:"skipped,omitempty"` // IDs of checks
	// Errors, Warnings and Unknown count the findings.
	Errors   int             `json:"errors"`
	Warnings int             `json:"warnings"`
	Unknown  int             `json:"unknown"`
	Findings []check.Finding `json:"findings"`
}

type checkedHost struct {
	Node      string `json:"node,omitempty"`
	Host      string `json:"host"`
	Namespace string `json:"namespace,omitempty"`
}

type notAsked struct {
	Host string `json:"host"`
	Why  string `json:"why"`
}

func (r *checkReport) fill(in check.Input, findings []check.Finding) {
	r.Skipped = in.Skip
	if r.Findings = findings; findings == nil {
		r.Findings = []check.Finding{} // not nil, so that JSON has an empty list
	}
	if r.Hosts == nil {
		r.Hosts = []checkedHost{}
	}
	for _, f := range findings {
		switch {
		case f.Blocks():
			r.Errors++
		case f.Result == check.Unknown:
			r.Unknown++
		default:
			r.Warnings++
		}
	}
}

// page returns the findings as a table. Equal findings of several hosts are one row.
func (r *checkReport) page() string {
	type group struct {
		check.Finding
		hosts []string
	}
	var groups []*group
	for _, f := range r.Findings {
		i := slices.IndexFunc(groups, func(g *group) bool { return g.ID == f.ID && g.Result == f.Result && g.Seen == f.Seen })
		if i < 0 {
			groups, i = append(groups, &group{Finding: f}), len(groups)
		}
		if f.Host != "" {
			groups[i].hosts = append(groups[i].hosts, f.Host)
		}
	}
	rows := [][]string{{"SEVERITY", "CHECK", "HOST", "SEEN"}}
	var advice [][]string
	for _, g := range groups {
		severity := string(g.Severity)
		if g.Result == check.Unknown {
			severity = string(check.Unknown)
		} else if do := []string{"  " + g.ID, g.Do}; !slices.ContainsFunc(advice, func(a []string) bool { return a[0] == do[0] }) {
			advice = append(advice, do)
		}
		rows = append(rows, []string{severity, g.ID, dash(firstOf(g.hosts)), clean(g.Seen)})
	}
	var parts []string
	if len(groups) > 0 {
		parts = append(parts, columns(rows))
	}
	if len(advice) > 0 {
		parts = append(parts, "What to do:\n"+columns(advice))
	}
	for _, n := range r.NotAsked {
		parts = append(parts, fmt.Sprintf("Not checked: %s: %s\n", n.Host, clean(n.Why)))
	}
	if len(r.Skipped) > 0 {
		parts = append(parts, "Switched off: "+strings.Join(r.Skipped, ", ")+"\n")
	}
	of := counted(len(r.Hosts), "host")
	if len(r.Hosts) == 0 {
		of = "this machine"
	}
	parts = append(parts, fmt.Sprintf("%s, %s, %d unknown on %s\n", counted(r.Errors, "error"), counted(r.Warnings, "warning"), r.Unknown, of))
	return strings.Join(parts, "\n")
}

// firstOf names the first hosts of a list.
func firstOf(hosts []string) string {
	const few = 4
	if over := len(hosts) - few; over > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(hosts[:few], ", "), over)
	}
	return strings.Join(hosts, ", ")
}

// counted returns a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
