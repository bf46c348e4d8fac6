package hostfile

import (
	"bytes"
	"path"
	"strings"
)

// Format is the format of a file.
type Format string

const (
	JSON Format = "JSON"
	YAML Format = "YAML"
	CSV  Format = "CSV"
)

// FormatOf returns the format that the name of a file says. For another name, such as - for stdin, the text decides:
// JSON begins with a bracket, and the first line of CSV has the column name and a separator.
func FormatOf(name string, text []byte) Format {
	switch strings.ToLower(path.Ext(name)) {
	case ".json":
		return JSON
	case ".yaml", ".yml":
		return YAML
	case ".csv":
		return CSV
	}
	text = bytes.TrimSpace(text)
	if bytes.HasPrefix(text, []byte("{")) || bytes.HasPrefix(text, []byte("[")) {
		return JSON
	}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	if hasColumn(string(first), "name") {
		return CSV
	}
	return YAML
}

// hasColumn reports whether the first line of CSV has a column, and another one beside it.
func hasColumn(line, name string) bool {
	columns := strings.Split(line, string(separator(line)))
	for _, c := range columns {
		if strings.EqualFold(strings.Trim(c, "\" \r\t\ufeff"), name) {
			return len(columns) > 1
		}
	}
	return false
}

// separator returns that of CSV with this first line. Spreadsheets of many countries write semicolons.
func separator(line string) rune {
	if strings.Contains(line, ";") && !strings.Contains(line, ",") {
		return ';'
	}
	return ','
}
