package hostfile

import (
	"bytes"
	"encoding/csv"
	"errors"
	"strings"

	"go.yaml.in/yaml/v3"
)

// labelColumn begins the name of a column with a label, such as labels.rack.
const labelColumn = "labels."

// csvRows reads CSV into the same nodes as the other formats: a column is a field, and labels.KEY a label. An empty cell is
// a field that the row leaves out.
func csvRows(text []byte) (rows []*yaml.Node, findings []Finding) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	first, _, _ := strings.Cut(string(text), "\n")
	if !hasColumn(first, "name") { // the names are not printed: without a header, they would be the values of a server
		return nil, []Finding{{Line: 1, Problem: "there is no column name", Remedy: "let the first line be the names of the columns, such as name,address,username,password"}}
	}
	r := csv.NewReader(bytes.NewReader(text))
	r.Comma, r.FieldsPerRecord, r.TrimLeadingSpace, r.Comment = separator(first), -1, true, '#'
	header, err := r.Read()
	for err == nil {
		var cells []string
		if cells, err = r.Read(); err == nil {
			row, found := csvRow(r, header, cells)
			if findings = append(findings, found...); row != nil {
				rows = append(rows, row)
			}
		}
	}
	var wrong *csv.ParseError
	if errors.As(err, &wrong) {
		findings = append(findings, syntax(CSV, wrong.Line))
	}
	return rows, findings
}

// csvRow makes the node of a line; nil: its cells belong to no columns.
func csvRow(r *csv.Reader, header, cells []string) (row *yaml.Node, findings []Finding) {
	line, _ := r.FieldPos(0)
	row = &yaml.Node{Kind: yaml.MappingNode, Line: line}
	if len(cells) > len(header) {
		return nil, []Finding{{Line: line, Problem: "there are more cells than columns", Remedy: "put a cell with a separator into quotes"}}
	}
	labels := &yaml.Node{Kind: yaml.MappingNode, Line: line}
	for i, cell := range cells {
		column := strings.TrimSpace(header[i])
		at, _ := r.FieldPos(i)
		value := &yaml.Node{Kind: yaml.ScalarNode, Line: at, Value: cell, Tag: "!!str"}
		label, isLabel := strings.CutPrefix(column, labelColumn)
		switch {
		case strings.TrimSpace(cell) == "":
			continue
		case isLabel:
			labels.Content = append(labels.Content, key(label, at), value)
			continue
		case isDocument(column):
			tree, err := jsonTree([]byte(cell), at)
			if err != nil {
				findings = append(findings, Finding{Line: at, Field: column, Problem: "the cell is not JSON", Remedy: `write OpenStack's network_data, with its quotes doubled: "{""links"": ...}"`})
				continue
			}
			value = tree
		}
		row.Content = append(row.Content, key(column, at), value)
	}
	if len(labels.Content) > 0 {
		row.Content = append(row.Content, key("labels", line), labels)
	}
	return row, findings
}

func key(name string, line int) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Line: line, Value: name, Tag: "!!str"}
}
