package results

import (
	"errors"
	"fmt"
	"strings"
)

// Begin and End are the lines of a document between which Update writes the tables.
const (
	Begin = "<!-- results of make bench: begin; make bench-doc writes these lines -->"
	End   = "<!-- results of make bench: end -->"
)

const (
	heading = "### "
	header  = "| figure | divided by | value | goal | | load | date |\n| --- | --- | --- | --- | --- | --- | --- |\n"
)

// table is a table of the document.
type table struct {
	name string
	rows []row
}

// row is a row of a table. Its key are the figure and its peer.
type row struct{ key, line string }

// Update returns the document with the figures in its tables. A figure replaces the row of the same
// table, name and peer. Other rows stay. If a figure is given more than once, the last one counts.
func Update(document string, figures []Figure) (string, error) {
	before, rest, found := strings.Cut(document, Begin+"\n")
	old, after, ended := strings.Cut(rest, End)
	if !found || !ended || strings.Contains(after, Begin) {
		return "", errors.New("the document must contain these two lines once, in this order:\n" + Begin + "\n" + End)
	}
	tables, err := parseTables(old)
	if err != nil {
		return "", err
	}
	for _, f := range figures {
		tables = put(tables, f.Table, row{key: key(f.Name, orDash(f.Peer)), line: f.row()})
	}
	var b strings.Builder
	for _, t := range tables {
		b.WriteString("\n" + heading + t.name + "\n\n" + header)
		for _, r := range t.rows {
			b.WriteString(r.line + "\n")
		}
	}
	if len(tables) > 0 {
		b.WriteString("\n")
	}
	return before + Begin + "\n" + b.String() + End + after, nil
}

// parseTables reads the tables that Update has written.
func parseTables(text string) ([]table, error) {
	var tables []table
	for _, line := range strings.Split(text, "\n") {
		name, begins := strings.CutPrefix(line, heading)
		switch {
		case begins:
			tables = append(tables, table{name: name})
		case line == "" || strings.Contains(header, line+"\n"):
		case len(tables) > 0 && strings.HasPrefix(line, "| ") && strings.Count(line, "|") == strings.Count(header, "|")/2:
			cells := strings.Split(line, "|")
			last := &tables[len(tables)-1]
			last.rows = append(last.rows, row{key: key(strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2])), line: line})
		default:
			return nil, fmt.Errorf("the line %q is no row of a table: move text out of the lines between %q and %q", line, Begin, End)
		}
	}
	return tables, nil
}

// put replaces or appends a row.
func put(tables []table, name string, r row) []table {
	for i := range tables {
		if tables[i].name != name {
			continue
		}
		for j := range tables[i].rows {
			if tables[i].rows[j].key == r.key {
				tables[i].rows[j] = r
				return tables
			}
		}
		tables[i].rows = append(tables[i].rows, r)
		return tables
	}
	return append(tables, table{name: name, rows: []row{r}})
}

func key(name, peer string) string { return name + "|" + peer }
