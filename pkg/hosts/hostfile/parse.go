package hostfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/akraino-icn/bpa/pkg/nearest"
)

// nodes is the only field at the top of a file, as in ICN's nodes.json.
const nodes = "nodes"

// File is what Parse has read.
type File struct {
	Rows []*Row
	// OSIgnored: a row has ICN's field os, which is not imported: the Provisioning says which system a host gets.
	OSIgnored bool
}

// Parse reads the rows of a file. The findings are about its shape: syntax, unknown fields, fields that are there twice, and
// values of a wrong type. Validate finds the rest.
func Parse(format Format, text []byte) (f File, findings []Finding) {
	list, findings := list(format, text)
	for _, node := range list {
		row, found := parseRow(node)
		findings = append(findings, found...)
		if row == nil {
			continue
		}
		f.Rows = append(f.Rows, row)
		_, os := row.fields["os"]
		f.OSIgnored = f.OSIgnored || os
	}
	if len(f.Rows) == 0 && len(findings) == 0 {
		findings = []Finding{{Problem: "the file has no server", Remedy: "list the servers in the field nodes, as in ICN's nodes.json, or one in each line of CSV"}}
	}
	return f, findings
}

// list returns the nodes of the servers.
func list(format Format, text []byte) ([]*yaml.Node, []Finding) {
	if format == CSV {
		return csvRows(text)
	}
	root, err := tree(format, text)
	var wrong *syntaxError
	switch {
	case errors.As(err, &wrong):
		return nil, []Finding{syntax(format, wrong.line)}
	case root == nil:
		return nil, nil
	case unusual(root) != nil:
		return nil, []Finding{{Line: unusual(root).Line, Problem: "anchors, aliases and tags are not read", Remedy: "put a value that begins with &, * or ! into quotes"}}
	case root.Kind != yaml.MappingNode:
		return nil, []Finding{{Line: root.Line, Problem: "the file is no object", Remedy: "put the servers into the field nodes"}}
	}
	var servers []*yaml.Node
	findings := each(root, func(k, v *yaml.Node) []Finding {
		switch {
		case k.Value != nodes:
			return []Finding{{Line: k.Line, Field: shown(k.Value), Problem: "this field is unknown", Remedy: "the only field at the top is nodes"}}
		case v.Kind != yaml.SequenceNode:
			return []Finding{{Line: v.Line, Field: nodes, Problem: "this is no list", Remedy: "write a list of servers"}}
		}
		servers = v.Content
		return nil
	})
	return servers, findings
}

func tree(format Format, text []byte) (*yaml.Node, error) {
	if format == JSON {
		return jsonTree(text, 1)
	}
	return yamlTree(text)
}

func syntax(format Format, line int) Finding {
	remedy := "correct the syntax near this line"
	if format == YAML {
		remedy += "; a value with a colon or with a special character at its beginning needs quotes"
	}
	return Finding{Line: line, Problem: "this is not valid " + string(format), Remedy: remedy}
}

// each calls a function for each field of a mapping, and reports fields that are there twice.
func each(node *yaml.Node, of func(k, v *yaml.Node) []Finding) (findings []Finding) {
	first := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		k, v := node.Content[i], node.Content[i+1]
		if line, twice := first[k.Value]; twice {
			findings = append(findings, Finding{Line: k.Line, Field: shown(k.Value), Problem: fmt.Sprintf("line %d has this field too", line), Remedy: "remove one of them"})
			continue
		}
		first[k.Value] = k.Line
		findings = append(findings, of(k, v)...)
	}
	return findings
}

// parseRow reads one server. A row with findings may lack fields; nil: the node is no server.
func parseRow(node *yaml.Node) (*Row, []Finding) {
	r := &Row{Line: node.Line, fields: map[string]place{}}
	if node.Kind != yaml.MappingNode {
		return nil, []Finding{{Line: node.Line, Problem: "this is no server", Remedy: "write an object with the fields name, bmc and others"}}
	}
	findings := r.group(node, "", topFields)
	r.normalize()
	if r.Name != "" {
		for i := range findings {
			findings[i].Host = shown(r.Name)
		}
	}
	return r, findings
}

// group reads the fields of a mapping whose own path is prefix.
func (r *Row) group(node *yaml.Node, prefix string, known []field) []Finding {
	return each(node, func(k, v *yaml.Node) []Finding {
		at := place{name: shown(prefix + k.Value), line: k.Line}
		i := slices.IndexFunc(known, func(f field) bool { return f.name == k.Value })
		if i < 0 {
			return []Finding{{Line: at.line, Field: at.name, Problem: "this field is unknown", Remedy: suggestion(k.Value, known)}}
		}
		f := known[i]
		if v.Kind == yaml.ScalarNode && v.Tag == "!!null" { // as if it were not there
			return nil
		}
		path := f.path
		if path == "" {
			path = prefix + f.name
		}
		if other, twice := r.fields[path]; twice {
			return []Finding{{Line: at.line, Field: at.name, Problem: fmt.Sprintf("%s in line %d says the same", other.name, other.line), Remedy: "remove one of them"}}
		}
		r.fields[path] = at
		if f.below != nil {
			if v.Kind != yaml.MappingNode {
				return []Finding{{Line: at.line, Field: at.name, Problem: "this is no object", Remedy: "its fields are " + names(f.below)}}
			}
			return r.group(v, prefix+k.Value+".", f.below)
		}
		if err := f.read(r, v); err != nil {
			return []Finding{{Line: v.Line, Field: at.name, Problem: err.Error(), Remedy: f.remedy}}
		}
		return nil
	})
}

func suggestion(name string, known []field) string {
	var all []string
	for _, f := range known {
		all = append(all, f.name)
	}
	if near := nearest.Name(name, all); near != "" {
		return "did you mean " + near + "?"
	}
	return "the fields here are " + names(known)
}

func names(fields []field) string {
	var all []string
	for _, f := range fields {
		all = append(all, f.name)
	}
	return strings.Join(all, ", ")
}

// normalize writes the address of the BMC with its scheme, and the boot MAC address as Metal3 does. ICN has no field for the
// latter: it is that of the link provisioning_nic.
func (r *Row) normalize() {
	r.Address = strings.TrimSpace(r.Address)
	if r.Address != "" && !strings.Contains(r.Address, "://") && !strings.Contains(r.Address, "@") {
		r.Address = "ipmi://" + r.Address
	}
	if r.BootMAC == "" && r.icnBoot.ok {
		r.BootMAC, r.fields[pathBootMAC] = r.icnBoot.text, r.icnBoot.place
	} else if m := newMAC(r.BootMAC, place{}); m.ok {
		r.BootMAC = m.text
	}
}
