package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// schema is the schema of a plugin's parameters.
type schema struct {
	spec *spec.Schema
	// properties are the names and the schemas of the parameters.
	properties map[string]spec.Schema
}

// keywords are the keywords that a schema may have. References are not among them, because the
// validator follows none; anyOf and the like are not, because they make messages that nobody can read.
var keywords = map[string]bool{
	"type": true, "title": true, "description": true, "default": true, "enum": true, "format": true, "nullable": true, "example": true,
	"properties": true, "required": true, "additionalProperties": true, "minProperties": true, "maxProperties": true,
	"items": true, "minItems": true, "maxItems": true, "uniqueItems": true,
	"minimum": true, "maximum": true, "exclusiveMinimum": true, "exclusiveMaximum": true, "multipleOf": true,
	"minLength": true, "maxLength": true, "pattern": true,
}

var types = []string{"object", "array", "string", "integer", "number", "boolean"}

const maxDepth = 10

// parameterPattern has dashes for charts, whose values for another chart have that chart's name.
var parameterPattern = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_-]{0,99}$`)

// parseSchema reads Definition.Parameters; nil without one.
func parseSchema(text json.RawMessage) (*schema, error) {
	if len(text) == 0 || string(text) == "null" {
		return nil, nil
	}
	var raw any
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, err
	}
	if err := checkSchema(raw, "", 0); err != nil {
		return nil, err
	}
	if raw.(map[string]any)["type"] != "object" {
		return nil, errors.New("the type of the parameters is not object")
	}
	closed, err := json.Marshal(raw)
	if err != nil {
		return nil, err
	}
	s := &schema{spec: &spec.Schema{}}
	if err := json.Unmarshal(closed, s.spec); err != nil {
		return nil, err
	}
	s.properties = s.spec.Properties
	for name := range s.properties {
		if !parameterPattern.MatchString(name) || strings.HasPrefix(name, "plugin_") || strings.HasPrefix(name, "ansible_") {
			return nil, fmt.Errorf("properties: %.100q is not a name of a parameter: use letters, digits, underscores and dashes, begin with a letter, and not with plugin_ or ansible_", name)
		}
	}
	return s, checkDefaults(s.spec, "")
}

// checkSchema checks the keywords of a schema and of the schemas in it. It closes objects that name
// their properties and do not say if they accept others: a misspelt parameter must be an error.
func checkSchema(raw any, at string, depth int) error {
	s, ok := raw.(map[string]any)
	switch {
	case !ok:
		return fmt.Errorf("%s: a schema is an object", at)
	case depth > maxDepth:
		return fmt.Errorf("%s: the schema is more than %d levels deep", at, maxDepth)
	}
	for _, keyword := range slices.Sorted(maps.Keys(s)) {
		if !keywords[keyword] {
			return fmt.Errorf("%s: the keyword %.100q is not supported", at, keyword)
		}
	}
	kind, _ := s["type"].(string)
	if !slices.Contains(types, kind) {
		return fmt.Errorf("%s: type is not one of %s", at, strings.Join(types, ", "))
	}
	if pattern, ok := s["pattern"].(string); ok {
		if _, err := regexp.Compile(pattern); err != nil {
			return fmt.Errorf("%s: pattern: %w", at, err)
		}
	}
	if kind == "object" && s["additionalProperties"] == nil {
		s["additionalProperties"] = false
	}
	return checkInner(s, at, depth+1)
}

func checkInner(s map[string]any, at string, depth int) error {
	if items, ok := s["items"]; ok {
		if err := checkSchema(items, at+"[]", depth); err != nil {
			return err
		}
	}
	if more, ok := s["additionalProperties"]; ok {
		if _, plain := more.(bool); !plain {
			if err := checkSchema(more, at+".*", depth); err != nil {
				return err
			}
		}
	}
	properties, ok := s["properties"]
	if !ok {
		return nil
	}
	all, ok := properties.(map[string]any)
	if !ok {
		return fmt.Errorf("%s: properties is not an object", at)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := checkSchema(all[name], strings.TrimPrefix(at+"."+name, "."), depth); err != nil {
			return err
		}
	}
	return nil
}

// checkDefaults checks each default against the schema that has it.
func checkDefaults(of *spec.Schema, at string) error {
	if of.Default != nil {
		if found := check(of, withDefaults(of, clone(of.Default))); len(found) > 0 {
			return fmt.Errorf("%s: the default does not fit the schema: %s", strings.TrimPrefix(at, "."), found[0].Message)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(of.Properties)) {
		inner := of.Properties[name]
		if err := checkDefaults(&inner, at+"."+name); err != nil {
			return err
		}
	}
	if of.Items != nil && of.Items.Schema != nil {
		if err := checkDefaults(of.Items.Schema, at+"[]"); err != nil {
			return err
		}
	}
	if of.AdditionalProperties != nil && of.AdditionalProperties.Schema != nil {
		return checkDefaults(of.AdditionalProperties.Schema, at+".*")
	}
	return nil
}

// check returns what is wrong with a value. Paths begin below the value.
func check(s *spec.Schema, value any) (found []Problem) {
	result := validate.NewSchemaValidator(s, nil, "", strfmt.Default).Validate(value)
	for _, err := range result.Errors {
		found = append(found, problemOf(err))
	}
	slices.SortFunc(found, func(a, b Problem) int { return strings.Compare(a.Path+" "+a.Message, b.Path+" "+b.Message) })
	return found
}

// withDefaults returns value with the defaults of the schema in the places where it has nothing. It
// changes the maps and lists in value.
func withDefaults(s *spec.Schema, value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range s.Properties {
			if _, ok := v[name]; !ok && inner.Default != nil {
				v[name] = clone(inner.Default)
			}
			if has, ok := v[name]; ok {
				v[name] = withDefaults(&inner, has)
			}
		}
		if more := s.AdditionalProperties; more != nil && more.Schema != nil {
			for name := range v {
				if _, ok := s.Properties[name]; !ok {
					v[name] = withDefaults(more.Schema, v[name])
				}
			}
		}
	case []any:
		if s.Items != nil && s.Items.Schema != nil {
			for i := range v {
				v[i] = withDefaults(s.Items.Schema, v[i])
			}
		}
	}
	return value
}

// clone copies a decoded JSON value.
func clone(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, inner := range v {
			out[name] = clone(inner)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = clone(v[i])
		}
		return out
	}
	return value
}

// maxParameters limits the parameters of one plugin, in bytes.
const maxParameters = 64 << 10

// decodeParameters returns the parameters as maps, lists, strings, booleans, int64 and float64, as
// objects of Kubernetes have them. Empty parameters are an empty map.
func decodeParameters(text json.RawMessage) (map[string]any, error) {
	if len(text) > maxParameters {
		return nil, fmt.Errorf("the parameters have %d bytes, more than %d", len(text), maxParameters)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return map[string]any{}, nil
	}
	value, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("the parameters are not JSON: %w", err)
	}
	switch v := value.(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		return v, nil
	}
	return nil, errors.New("the parameters are not an object")
}
