package render

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// decode returns the objects of a file of YAML documents. A List counts as the objects in it. strict
// refuses a key that occurs twice; charts in use have such keys.
func decode(path string, text []byte, strict bool) (all []*unstructured.Unstructured, err error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for n := 1; ; n++ {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		objects, err := decodeDocument(document, strict)
		if err != nil {
			return nil, fmt.Errorf("%s: document %d: %w", path, n, err)
		}
		if all = append(all, objects...); len(all) > maxObjects {
			return nil, fmt.Errorf("%s: it has more than %d objects", path, maxObjects)
		}
	}
}

func decodeDocument(document []byte, strict bool) ([]*unstructured.Unstructured, error) {
	toJSON := yaml.YAMLToJSON
	if strict {
		toJSON = yaml.YAMLToJSONStrict
	}
	text, err := toJSON(document)
	if err != nil {
		return nil, err
	}
	var value any
	if err := utiljson.Unmarshal(text, &value); err != nil {
		return nil, err
	}
	switch v := value.(type) {
	case nil:
		return nil, nil // only comments
	case map[string]any:
		return objectsOf(v, 0)
	}
	return nil, errors.New("it is not an object")
}

// objectsOf returns one object, or those of a List.
func objectsOf(value map[string]any, depth int) (all []*unstructured.Unstructured, err error) {
	o := &unstructured.Unstructured{Object: value}
	items, list := value["items"].([]any)
	if !list || !strings.HasSuffix(o.GetKind(), "List") || depth > 0 {
		return []*unstructured.Unstructured{o}, check(o)
	}
	for i, item := range items {
		inner, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("items[%d] is not an object", i)
		}
		objects, err := objectsOf(inner, depth+1)
		if err != nil {
			return nil, fmt.Errorf("items[%d]: %w", i, err)
		}
		all = append(all, objects...)
	}
	return all, nil
}

// check refuses an object that cannot be applied. In particular, metadata of another form than an
// object's would make the methods of Unstructured panic or lie.
func check(o *unstructured.Unstructured) error {
	metadata, ok := o.Object["metadata"].(map[string]any)
	if !ok {
		return errors.New("an object has no metadata")
	}
	for _, name := range []string{"apiVersion", "kind"} {
		if text, ok := o.Object[name].(string); !ok || text == "" {
			return fmt.Errorf("an object has no %s", name)
		}
	}
	if name, ok := metadata["name"].(string); !ok || name == "" {
		return fmt.Errorf("a %s has no metadata.name: an object without a fixed name cannot be applied again or removed", o.GetKind())
	}
	if ns, has := metadata["namespace"]; has {
		if _, ok := ns.(string); !ok {
			return fmt.Errorf("%s %s: metadata.namespace is not a string", o.GetKind(), o.GetName())
		}
	}
	return nil
}

// checkTexts refuses labels and annotations that are not strings. In a manifest, a parameter can become
// one of them, so they are checked when the parameters are in their places.
func checkTexts(o *unstructured.Unstructured) error {
	for _, name := range []string{"labels", "annotations"} {
		if _, _, err := unstructured.NestedStringMap(o.Object, "metadata", name); err != nil {
			return fmt.Errorf("%s: metadata.%s has a value that is not a string: put it in quotes", nameOf(o), name)
		}
	}
	return nil
}
