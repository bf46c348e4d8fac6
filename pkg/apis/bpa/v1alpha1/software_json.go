package v1alpha1

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// UnmarshalJSON reads both notations of a package. It returns no error: what is neither of them is kept in
// Invalid, with the name of the package if only its options are wrong.
func (e *SoftwareEntry) UnmarshalJSON(data []byte) error {
	var wrong string
	if *e, wrong = ParseEntry(data); wrong != "" {
		*e = SoftwareEntry{Name: e.Name, Invalid: string(data)}
	}
	return nil
}

// MarshalJSON writes the short notation if the package has no options.
func (e SoftwareEntry) MarshalJSON() ([]byte, error) {
	switch {
	case e.Invalid != "":
		return []byte(e.Invalid), nil
	case e.SoftwareOptions == (SoftwareOptions{}):
		return json.Marshal(e.Name)
	}
	return json.Marshal(map[string]SoftwareOptions{e.Name: e.SoftwareOptions})
}

// ParseEntry reads both notations of a package. The text says what is wrong; empty: nothing.
func ParseEntry(data []byte) (e SoftwareEntry, wrong string) {
	if string(data) == "null" {
		return e, "the entry is empty"
	}
	if json.Unmarshal(data, &e.Name) == nil {
		return e, ""
	}
	var one map[string]json.RawMessage
	if err := json.Unmarshal(data, &one); err != nil {
		return e, fmt.Sprintf("%s is neither a name nor an object", Excerpt(data))
	}
	names := slices.Sorted(maps.Keys(one))
	switch {
	case len(names) == 0:
		return e, "the object has no name of a package"
	case len(names) > 1:
		return e, fmt.Sprintf("the object has %d keys (%s), so its package is not known", len(names), Excerpt([]byte(strings.Join(names, ", "))))
	}
	e.Name = names[0]
	return e, e.parseOptions(one[e.Name])
}

// parseOptions reads the options of a package. The names of options are case-sensitive, as in all of Kubernetes.
func (e *SoftwareEntry) parseOptions(data json.RawMessage) (wrong string) {
	var options map[string]json.RawMessage
	if err := json.Unmarshal(data, &options); err != nil {
		return fmt.Sprintf("the options of package %s are %s, which is no object", Excerpt([]byte(e.Name)), Excerpt(data))
	}
	for _, name := range slices.Sorted(maps.Keys(options)) {
		into := map[string]*string{"version": &e.Version, "disruption": &e.Disruption}[name]
		if into == nil {
			return fmt.Sprintf("package %s has the unknown option %q; there are version and disruption", Excerpt([]byte(e.Name)), Excerpt([]byte(name)))
		}
		if err := json.Unmarshal(options[name], into); err != nil {
			return fmt.Sprintf("%s of package %s is %s, which is no text: write it in quotes", name, Excerpt([]byte(e.Name)), Excerpt(options[name]))
		}
	}
	return ""
}

// Excerpt returns the beginning of a text for a message.
func Excerpt(text []byte) string {
	const limit = 100
	if len(text) <= limit {
		return string(text)
	}
	return strings.ToValidUTF8(string(text[:limit]), "") + "..."
}
