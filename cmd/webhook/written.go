package main

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"
)

// written is an object as its user has written it. Defaulting adds what is missing, and changes nothing that is there:
// not a value with several notations, such as v1.35.4, 120m or a zero, and nothing inside the items of a list. A tool
// that compares an object with a file, such as Argo CD, takes every other value as a difference that it must remove again
// and again. Whatever reads the object converts the notations itself: see v1alpha1.Provisioning.Normalized.
type written struct {
	checked // the same, typed
	text    map[string]any
}

// UnmarshalJSON reads the object, and refuses fields that the kind does not have.
func (w *written) UnmarshalJSON(raw []byte) error {
	text, err := read(raw, w.typed)
	if err != nil {
		return err
	}
	if w.text == nil {
		w.text = map[string]any{}
	}
	for field, value := range text {
		w.text[field] = value
	}
	return nil
}

// MarshalJSON returns what was written, with the defaults.
func (w *written) MarshalJSON() ([]byte, error) { return json.Marshal(w.text) }

// DeepCopyObject implements runtime.Object.
func (w *written) DeepCopyObject() runtime.Object {
	return &written{checked{w.typed.DeepCopyObject().(typed)}, runtime.DeepCopyJSON(w.text)}
}

// SetDefaults implements apis.Defaultable.
func (w *written) SetDefaults(ctx context.Context) {
	w.checked.SetDefaults(ctx)
	full, err := runtime.DefaultUnstructuredConverter.ToUnstructured(w.typed)
	if err != nil {
		return // the typed object was read from JSON, so it can be written; without defaults, the validation refuses it
	}
	for _, part := range [][]string{{"metadata", "labels"}, {"spec"}} {
		complete(at(w.text, part), at(full, part), false)
	}
}

// at returns the object at a path, which it creates if it is not there.
func at(object map[string]any, path []string) map[string]any {
	for _, field := range path {
		below, ok := object[field].(map[string]any)
		if !ok {
			below = map[string]any{}
			object[field] = below
		}
		object = below
	}
	return object
}

// complete adds to text what it lacks of full. A written zero lacks its value. Of the items of a list, it completes only nodes without requirements: kubectl
// sends "- master-1:" as null or without its name.
func complete(text, full map[string]any, inList bool) {
	for field, value := range full {
		object, isObject := value.(map[string]any)
		list, isList := value.([]any)
		is, there := text[field]
		switch has := is.(type) {
		case nil:
			if isObject && inList && (there || len(text) == 0) || !inList && !(isObject && len(object) == 0) {
				text[field] = value
			}
		case string:
			if has == "" {
				text[field] = value
			}
		case int64:
			if has == 0 && !inList {
				text[field] = value
			}
		case map[string]any:
			if isObject {
				complete(has, object, inList)
			}
		case []any:
			if !isList || len(has) != len(list) {
				continue
			}
			for i := range has {
				item, ok := has[i].(map[string]any)
				if other, also := list[i].(map[string]any); ok && also {
					complete(item, other, true)
				}
			}
		}
	}
}
