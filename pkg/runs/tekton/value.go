package tekton

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Params are the params of a run.
type Params []Param

// Param is a param of a run.
type Param struct {
	Name  string     `json:"name"`
	Value ParamValue `json:"value"`
}

// ParamType is the type of a ParamValue.
type ParamType string

// The types of a ParamValue.
const (
	ParamTypeString ParamType = "string"
	ParamTypeArray  ParamType = "array"
	ParamTypeObject ParamType = "object"
)

// ParamValue is the value of a param or a result. Each of its types is another one in JSON.
type ParamValue struct {
	Type      ParamType
	StringVal string
	ArrayVal  []string
	ObjectVal map[string]string
}

// NewStructuredValues returns a string.
func NewStructuredValues(value string) *ParamValue {
	return &ParamValue{Type: ParamTypeString, StringVal: value}
}

// UnmarshalJSON reads a string, an array of strings or an object of strings. Other JSON becomes a string with its text.
func (v *ParamValue) UnmarshalJSON(text []byte) error {
	*v = ParamValue{Type: ParamTypeString}
	switch {
	case bytes.HasPrefix(text, []byte("[")) && json.Unmarshal(text, &v.ArrayVal) == nil:
		v.Type = ParamTypeArray
	case bytes.HasPrefix(text, []byte("{")) && json.Unmarshal(text, &v.ObjectVal) == nil:
		v.Type = ParamTypeObject
	case json.Unmarshal(text, &v.StringVal) != nil:
		*v = ParamValue{Type: ParamTypeString, StringVal: string(text)}
	}
	return nil
}

// MarshalJSON writes the JSON of the type.
func (v ParamValue) MarshalJSON() ([]byte, error) {
	switch v.Type {
	case ParamTypeString:
		return json.Marshal(v.StringVal)
	case ParamTypeArray:
		return json.Marshal(v.ArrayVal)
	case ParamTypeObject:
		return json.Marshal(v.ObjectVal)
	}
	return nil, fmt.Errorf("value of the unknown type %q", v.Type)
}
