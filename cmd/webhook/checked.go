package main

import (
	"bytes"
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/admission"
)

// typed is an object of a kind of the API, which has defaults.
type typed interface {
	apis.Defaultable
	runtime.Object
}

// checked is a typed object with its checks. It implements resourcesemantics.GenericCRD.
type checked struct{ typed }

// Validate implements apis.Validatable.
func (c *checked) Validate(ctx context.Context) *apis.FieldError {
	return admission.Check(withBaseline(ctx), c.typed)
}

// SetDefaults implements apis.Defaultable.
func (c *checked) SetDefaults(ctx context.Context) { c.typed.SetDefaults(withBaseline(ctx)) }

// withBaseline returns a context in which the stored object of an update is one of the API's own types.
func withBaseline(ctx context.Context) context.Context {
	switch old := apis.GetBaseline(ctx).(type) {
	case *checked:
		return apis.WithinUpdate(ctx, old.typed)
	case *written:
		return apis.WithinUpdate(ctx, old.typed)
	}
	return ctx
}

// DeepCopyObject implements runtime.Object.
func (c *checked) DeepCopyObject() runtime.Object {
	return &checked{c.typed.DeepCopyObject().(typed)}
}

// MarshalJSON returns the typed object.
func (c *checked) MarshalJSON() ([]byte, error) { return json.Marshal(c.typed) }

// UnmarshalJSON reads the object, and refuses fields that the kind does not have.
func (c *checked) UnmarshalJSON(raw []byte) error {
	_, err := read(raw, c.typed)
	return err
}

// read reads an object, and refuses fields that the kind does not have. It also returns what was written. knative calls
// it a second time with nothing but the metadata, whose fields the API server knows.
func read(raw []byte, into typed) (text map[string]any, err error) {
	if err := utiljson.Unmarshal(raw, &text); err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if _, metadata := text["metadata"]; len(text) > 1 || !metadata {
		decoder.DisallowUnknownFields()
	}
	return text, decoder.Decode(into)
}
