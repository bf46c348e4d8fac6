package inventory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// deepest is how deep the value of a node's variable may be nested. Python refuses literals of more than 200 brackets,
// and Ansible then takes the value for text.
const deepest = 100

// assignment returns a variable of a host as hosts.ini has it: NAME='LITERAL'.
//
// Ansible splits the line like a shell, and reads each value as a Python literal. So the value is a literal of Python, in
// quotes of the shell, and it has no quote of the shell inside. Strings stay templates.
func assignment(name string, value json.RawMessage) (string, error) {
	parsed, err := parseJSON(value)
	if err != nil {
		return "", fmt.Errorf("the value of %s is not JSON: %w", name, err)
	}
	var b strings.Builder
	if err := literal(&b, parsed, deepest); err != nil {
		return "", fmt.Errorf("the value of %s %w", name, err)
	}
	return name + "='" + b.String() + "'", nil
}

func parseJSON(value json.RawMessage) (parsed any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	if err = decoder.Decode(&parsed); err != nil {
		return nil, err
	}
	if _, err = decoder.Token(); err != io.EOF {
		return nil, errors.New("it has more than one value")
	}
	return parsed, nil
}

// literal writes a value as a Python literal in ASCII.
func literal(b *strings.Builder, value any, depth int) error {
	if depth == 0 {
		return fmt.Errorf("is nested more than %d deep", deepest)
	}
	switch v := value.(type) {
	case nil:
		b.WriteString("None")
	case bool:
		b.WriteString(map[bool]string{true: "True", false: "False"}[v])
	case json.Number:
		b.WriteString(v.String())
	case string:
		text(b, v)
	case []any:
		b.WriteByte('[')
		for _, item := range v {
			if err := literal(b, item, depth-1); err != nil {
				return err
			}
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		for _, key := range slices.Sorted(maps.Keys(v)) {
			text(b, key)
			b.WriteByte(':')
			if err := literal(b, v[key], depth-1); err != nil {
				return err
			}
			b.WriteByte(',')
		}
		b.WriteByte('}')
	}
	return nil
}

// text writes a string of Python. What has a meaning in Python, in a shell or in an inventory is escaped.
func text(b *strings.Builder, s string) {
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r > 0xffff:
			fmt.Fprintf(b, `\U%08x`, r)
		case r < ' ' || r > '~' || strings.ContainsRune(`"'\#;`, r):
			fmt.Fprintf(b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
}
