package docs

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/contract/from"
	"github.com/akraino-icn/bpa/pkg/hosts/assign"
	"github.com/akraino-icn/bpa/pkg/settings"
)

// TestAssignments checks each block of the kind hosts on the pages. It assigns the hosts in the
// block to the last Provisioning before the block. The result must be the nodes, or the
// explanation, in the block that follows the hosts.
func TestAssignments(t *testing.T) {
	seen := 0
	for _, page := range pages(t) {
		all := fences(t, page)
		for i, f := range all {
			if f.kind != "hosts" {
				continue
			}
			seen++
			t.Run(fmt.Sprintf("%s:%d", f.page, f.line), func(t *testing.T) {
				before := slices.IndexFunc(all, func(p fence) bool { return p.line > f.line })
				if before < 0 {
					t.Fatal("no block follows the hosts")
				}
				for before--; before >= 0 && !(all[before].kind == "yaml" && strings.Contains(all[before].text, "kind: Provisioning")); before-- {
				}
				if before < 0 {
					t.Fatal("no Provisioning comes before the hosts")
				}
				compare(t, all[before], f, all[i+1])
			})
		}
	}
	if seen < 5 {
		t.Errorf("the pages have only %d blocks of hosts, want at least 5", seen)
	}
}

// compare assigns hosts to a Provisioning and compares the result with the page.
func compare(t *testing.T, provisioning, inventory, outcome fence) {
	p := read(t, provisioning)
	request, err := from.Provisioning(p, settings.Depot{})
	if err != nil {
		t.Fatal(err)
	}
	all := described(t, inventory, p.Name)
	assigned, err := assign.Assign(request, all)
	var nodes []contract.Node
	if err == nil {
		nodes, err = assign.Nodes(request, all, assigned)
	}
	switch outcome.kind {
	case "nodes":
		if err != nil {
			t.Fatal(err)
		}
		header, _, _ := strings.Cut(outcome.text, "\n")
		if diff := cmp.Diff(cells(outcome.text), cells(table(nodes, strings.Fields(header)))); diff != "" {
			t.Errorf("%s:%d: nodes (-page +real):\n%s\n%s", outcome.page, outcome.line, diff, table(nodes, strings.Fields(header)))
		}
	case "explanation":
		if err == nil {
			t.Fatalf("nodes are assigned, but the page explains why none are: %v", nodes)
		}
		if page := strings.Join(strings.Fields(outcome.text), " "); page != err.Error() {
			t.Errorf("%s:%d: the explanation on the page is\n%s\nthe real one is\n%s", outcome.page, outcome.line, page, err)
		}
	default:
		t.Errorf("%s:%d: the block after the hosts has the kind %q, want nodes or explanation", outcome.page, outcome.line, outcome.kind)
	}
}

// cells returns the lines of a table with one space between columns.
func cells(text string) []string {
	var lines []string
	for line := range strings.Lines(strings.TrimSpace(text)) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return lines
}

// table formats nodes as on a page, with the columns of the page's header.
func table(nodes []contract.Node, columns []string) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(columns, "\t"))
	for _, n := range nodes {
		cell := map[string]string{"NODE": n.Name, "HOST": n.Host, "ADDRESS": n.Address, "ADDRESS6": n.Address6, "STANDBY": ""}
		if n.Standby {
			cell["STANDBY"] = "yes"
		}
		var row []string
		for _, column := range columns {
			row = append(row, cell[column])
		}
		fmt.Fprintln(w, strings.TrimRight(strings.Join(row, "\t"), "\t"))
	}
	w.Flush()
	return text.String()
}
