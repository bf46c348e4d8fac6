package secretvars

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Ansible returns a file of variables for Ansible. It is YAML, in which every string has the tag !unsafe: Ansible
// does not evaluate it as a template.
func Ansible(vars map[string]json.RawMessage) ([]byte, error) {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		value, err := decode(vars[name])
		if err != nil {
			return nil, fmt.Errorf("variable %s cannot be read", name) // err could show the value
		}
		b.WriteString(name + ": ")
		if err := write(&b, value); err != nil {
			return nil, fmt.Errorf("variable %s %w", name, err)
		}
		b.WriteString("\n")
	}
	if b.Len() == 0 {
		b.WriteString("{}\n")
	}
	return b.Bytes(), nil
}

// write writes a value in YAML's flow style.
func write(b *bytes.Buffer, value any) error {
	switch value := value.(type) {
	case map[string]any:
		b.WriteString("{")
		for i, key := range slices.Sorted(maps.Keys(value)) {
			if i > 0 {
				b.WriteString(", ")
			}
			name, err := encode(key)
			if err != nil {
				return err
			}
			b.Write(name)
			b.WriteString(": ")
			if err := write(b, value[key]); err != nil {
				return err
			}
		}
		b.WriteString("}")
	case []any:
		b.WriteString("[")
		for i, item := range value {
			if i > 0 {
				b.WriteString(", ")
			}
			if err := write(b, item); err != nil {
				return err
			}
		}
		b.WriteString("]")
	default:
		text, err := encode(value)
		if err != nil {
			return err
		}
		if _, isText := value.(string); isText {
			b.WriteString("!unsafe ")
		}
		for _, r := range string(text) {
			if r >= 0x7f && r < 0xa0 || r == 0xfeff || r == 0xfffe || r == 0xffff { // characters that YAML forbids, or takes for the end of a line
				fmt.Fprintf(b, `\u%04x`, r)
			} else {
				b.WriteRune(r)
			}
		}
	}
	return nil
}

// Texts returns all strings in the values of the variables, which must not be shown.
func Texts(vars map[string]json.RawMessage) []string {
	found := map[string]bool{}
	for _, text := range vars {
		if value, err := decode(text); err == nil {
			collect(value, found)
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func collect(value any, found map[string]bool) {
	switch value := value.(type) {
	case map[string]any:
		for _, item := range value {
			collect(item, found)
		}
	case []any:
		for _, item := range value {
			collect(item, found)
		}
	case string:
		found[value] = true
	case json.Number:
		found[value.String()] = true
	}
}
