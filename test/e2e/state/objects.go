package state

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// changing are the fields of metadata that the API server sets for each object anew.
var changing = []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink"}

// Objects returns a list of Kubernetes objects, as kubectl prints it in JSON, as lines "objects: KIND
// NAMESPACE/NAME FIELD=VALUE". It leaves out the status, which describes a moment, the changing fields
// of metadata, and the values of Secrets. An object with a generated name has the prefix and a star.
func Objects(list []byte) ([]string, error) {
	var all struct {
		Items []map[string]any `json:"items"`
	}
	if err := json.Unmarshal(list, &all); err != nil {
		return nil, fmt.Errorf("list of objects: %w", err)
	}
	var lines []string
	for _, object := range all.Items {
		kind, _ := object["kind"].(string)
		metadata, _ := object["metadata"].(map[string]any)
		if kind == "" || metadata == nil {
			return nil, fmt.Errorf("object without kind or metadata: %.200v", object)
		}
		delete(object, "status")
		for _, field := range changing {
			delete(metadata, field)
		}
		if owners, ok := metadata["ownerReferences"].([]any); ok {
			for _, owner := range owners {
				delete(owner.(map[string]any), "uid")
			}
		}
		if data, ok := object["data"].(map[string]any); ok && kind == "Secret" {
			for key := range data {
				data[key] = "SECRET"
			}
		}
		name := fmt.Sprint(metadata["name"])
		if prefix, ok := metadata["generateName"].(string); ok {
			name = prefix + "*"
			metadata["name"] = name
		}
		namespace, _ := metadata["namespace"].(string)
		lines = append(lines, flat("objects: "+kind+" "+namespace+"/"+name, "", object)...)
	}
	slices.Sort(lines)
	return lines, nil
}

// flat returns a line for each value that has no parts.
func flat(object, path string, value any) (lines []string) {
	switch v := value.(type) {
	case map[string]any:
		for key, part := range v {
			lines = append(lines, flat(object, path+"."+key, part)...)
		}
		if len(v) > 0 {
			return lines
		}
	case []any:
		for i, part := range v {
			lines = append(lines, flat(object, fmt.Sprintf("%s[%d]", path, i), part)...)
		}
		if len(v) > 0 {
			return lines
		}
	}
	text, _ := json.Marshal(value) // it was decoded from JSON
	return []string{object + " " + strings.TrimPrefix(path, ".") + "=" + string(text)}
}
