package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/nearest"
)

// Complete returns the user's parameters with the defaults of the plugin's schema. If there are
// problems, the parameters cannot be used. Empty parameters are an empty object.
func (p Plugin) Complete(parameters json.RawMessage) (json.RawMessage, []Problem) {
	values, err := decodeParameters(parameters)
	if err != nil {
		return nil, []Problem{{Kind: BadParameter, Plugin: p.Name, Message: err.Error(), Advice: "write an object, such as {name: value}"}}
	}
	if p.schema == nil {
		if len(values) == 0 {
			return json.RawMessage("{}"), nil
		}
		first := slices.Min(slices.Collect(maps.Keys(values)))
		return nil, []Problem{{Kind: BadParameter, Plugin: p.Name, Path: first, Message: fmt.Sprintf("plugin %s has no parameters", p.Name), Advice: "remove the parameters"}}
	}
	values = withDefaults(p.schema.spec, values).(map[string]any)
	found := check(p.schema.spec, values)
	for i := range found {
		found[i].Plugin = p.Name
		if found[i].Advice == "" {
			found[i].Advice = p.adviceFor(found[i])
		}
	}
	if len(found) > 0 {
		return nil, found
	}
	complete, err := json.Marshal(values)
	if err != nil {
		return nil, []Problem{{Kind: BadParameter, Plugin: p.Name, Message: err.Error()}}
	}
	return complete, nil
}

// adviceFor names the parameter with the nearest name, or all of them.
func (p Plugin) adviceFor(problem Problem) string {
	name := problem.Path
	if end := strings.IndexAny(name, ".["); end >= 0 {
		name = name[:end]
	}
	names := slices.Sorted(maps.Keys(p.schema.properties))
	if _, ok := p.schema.properties[name]; ok {
		return fmt.Sprintf(`see "kubectl bpa plugins show %s"`, p.Name)
	}
	if near := nearest.Name(name, names); near != "" {
		return fmt.Sprintf("use %s", near)
	}
	if len(names) == 0 {
		return "remove the parameters"
	}
	return "use one of " + strings.Join(names, ", ")
}

// validatorMessage is the form of all of the validator's messages: "PATH in body MESSAGE".
var validatorMessage = regexp.MustCompile(`(?s)^(.*?) in body (.*)$`)

// problemOf describes an error of the validator.
func problemOf(err error) Problem {
	out := Problem{Kind: BadParameter, Message: err.Error()}
	if parts := validatorMessage.FindStringSubmatch(err.Error()); parts != nil {
		out.Path, out.Message = strings.TrimPrefix(parts[1], "."), parts[2]
	}
	if out.Message == "is a forbidden property" {
		out.Message = "there is no such parameter"
	}
	return out
}

// decode reads JSON with int64 for whole numbers.
func decode(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("there is text after the value")
	}
	return numbers(value)
}

// numbers replaces each json.Number. A whole number that does not fit into int64 is an error: it would
// lose digits as a float.
func numbers(value any) (any, error) {
	var err error
	switch v := value.(type) {
	case map[string]any:
		for name := range v {
			if v[name], err = numbers(v[name]); err != nil {
				return nil, err
			}
		}
	case []any:
		for i := range v {
			if v[i], err = numbers(v[i]); err != nil {
				return nil, err
			}
		}
	case json.Number:
		if !strings.ContainsAny(v.String(), ".eE") {
			return v.Int64()
		}
		return v.Float64()
	}
	return value, nil
}

// reference is a parameter in a string: $(params.NAME).
var reference = regexp.MustCompile(`\$\(params\.([A-Za-z0-9_.-]*)\)`)

// Substitute returns value, a decoded JSON value, with parameters in the place of $(params.NAME) in
// its strings. A string that is nothing but one reference becomes the parameter's value, of any type.
// In a longer string, the parameter must be a string, number or boolean. Since only decoded strings
// are changed, a parameter cannot add fields or objects. A name without a value is an error. Keys of
// maps are not changed.
func Substitute(value any, parameters map[string]any) (any, error) {
	switch v := value.(type) {
	case string:
		return substituteString(v, parameters)
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, inner := range v {
			changed, err := Substitute(inner, parameters)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			out[name] = changed
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			changed, err := Substitute(inner, parameters)
			if err != nil {
				return nil, fmt.Errorf("[%d]: %w", i, err)
			}
			out[i] = changed
		}
		return out, nil
	}
	return value, nil
}

func substituteString(text string, parameters map[string]any) (any, error) {
	found := reference.FindAllStringSubmatchIndex(text, -1)
	var out strings.Builder
	last := 0
	for _, at := range found {
		name := text[at[2]:at[3]]
		value, ok := parameters[name]
		if !ok {
			return nil, fmt.Errorf("$(params.%s): the parameter has no value", name)
		}
		if at[0] == 0 && at[1] == len(text) {
			return clone(value), nil
		}
		switch value.(type) {
		case string, bool, int64, float64:
		default:
			return nil, fmt.Errorf("$(params.%s): an object or a list cannot be a part of a string", name)
		}
		out.WriteString(text[last:at[0]])
		fmt.Fprint(&out, value)
		last = at[1]
	}
	if last == 0 {
		return text, nil
	}
	return out.String() + text[last:], nil
}

// checkReferences returns an error if a JSON value names a parameter that the schema does not have.
func (p *Plugin) checkReferences(text json.RawMessage) error {
	if _, err := decode(text); err != nil {
		return err
	}
	for _, found := range reference.FindAllSubmatch(text, -1) {
		name := string(found[1])
		if p.schema == nil {
			return fmt.Errorf("$(params.%s): the plugin has no parameters", name)
		}
		if _, ok := p.schema.properties[name]; !ok {
			return fmt.Errorf("$(params.%s): the plugin has no such parameter", name)
		}
	}
	return nil
}

// Values returns complete parameters as the values of objects, charts and playbooks.
func Values(parameters json.RawMessage) (map[string]any, error) { return decodeParameters(parameters) }

// KubesprayVars returns the plugin's group variables with these complete parameters.
func (p Plugin) KubesprayVars(parameters json.RawMessage) (map[string]json.RawMessage, error) {
	values, err := decodeParameters(parameters)
	if err != nil {
		return nil, err
	}
	out := map[string]json.RawMessage{}
	for name, text := range p.Kubespray.Vars {
		value, err := decode(text)
		if err != nil {
			return nil, fmt.Errorf("plugin %s: kubespray.vars.%s: %w", p.Name, name, err)
		}
		if value, err = Substitute(value, values); err != nil {
			return nil, fmt.Errorf("plugin %s: kubespray.vars.%s: %w", p.Name, name, err)
		}
		if out[name], err = json.Marshal(value); err != nil {
			return nil, err
		}
	}
	return out, nil
}
