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

// TestAssignments: of the hosts in a block of the kind hosts, the Provisioning before it gets the nodes that the block after it shows, or the
// explanation.
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
					t.Fatal("nothing follows the hosts")
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
		t.Errorf("only %d blocks of hosts are on the pages", seen)
	}
}

func compare(t *testing.T, wants, site, outcome fence) {
	p := read(t, wants)
	request, err := from.Provisioning(p, settings.Depot{})
	if err != nil {
		t.Fatal(err)
	}
	all := described(t, site, p.Name)
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
			t.Fatalf("there are nodes: %v", nodes)
		}
		if page := strings.Join(strings.Fields(outcome.text), " "); page != err.Error() {
			t.Errorf("%s:%d: the page explains\n%s\nand it is\n%s", outcome.page, outcome.line, page, err)
		}
	default:
		t.Errorf("%s:%d: neither nodes nor an explanation", outcome.page, outcome.line)
	}
}

// cells are the lines of a table without what is only for the eye.
func cells(text string) []string {
	var lines []string
	for line := range strings.Lines(strings.TrimSpace(text)) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return lines
}

// table shows nodes as a page does, with the columns of its header.
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
