package secretvars

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

// Content is the content of one key of a Secret.
type Content struct {
	// Variable is the only variable, whose value is the text; empty: the text is a YAML mapping of variables.
	Variable string
	Text     []byte
}

var (
	variablePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	linePattern     = regexp.MustCompile(`line (\d+)`)
)

// Parse returns the variables of a content by name, as JSON. A single variable is a string, without the line ends
// at the end of the text. An error completes "key K of Secret S".
func Parse(c Content) (map[string]json.RawMessage, error) {
	if !utf8.Valid(c.Text) {
		return nil, errors.New("is not text in UTF-8")
	}
	if c.Variable != "" {
		value, err := encode(strings.TrimRight(string(c.Text), "\r\n"))
		return map[string]json.RawMessage{c.Variable: value}, err
	}
	text, err := yaml.YAMLToJSONStrict(c.Text)
	if err != nil { // the error can contain a part of the text
		where := ""
		if line := linePattern.FindStringSubmatch(err.Error()); line != nil {
			where = ", see line " + line[1]
		}
		return nil, errors.New("is not valid YAML" + where)
	}
	var vars map[string]json.RawMessage
	if err := json.Unmarshal(text, &vars); err != nil || vars == nil {
		return nil, errors.New("is not a YAML mapping of variables, such as \"registry_password: ...\"")
	}
	for i, name := range slices.Sorted(maps.Keys(vars)) {
		if !variablePattern.MatchString(name) { // the name can be a value at the wrong place
			return nil, fmt.Errorf("has a name that is not that of a variable (number %d of %d in the order of their names): use letters, digits and underscores", i+1, len(vars))
		}
	}
	return vars, nil
}

// Merge adds variables. Those that are added win.
func Merge(all, more map[string]json.RawMessage) map[string]json.RawMessage {
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	maps.Copy(all, more)
	return all
}

// encode returns JSON without escapes for HTML.
func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, errors.New("cannot be encoded")
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// decode returns the value of JSON, with its numbers as they are written.
func decode(text []byte) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&value)
	return value, err
}
