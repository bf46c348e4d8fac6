package main

import (
	"strings"
	"testing"

	"knative.dev/pkg/apis"
	webhookjson "knative.dev/pkg/webhook/json"
	"knative.dev/pkg/webhook/resourcesemantics"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// TestEveryKindIsChecked: what the webhook reads is of the API's own type when it is checked, and so is the stored object
// of an update.
func TestEveryKindIsChecked(t *testing.T) {
	read := func(kind, text string) resourcesemantics.GenericCRD {
		object := kinds(asTyped)[v1alpha1.SchemeGroupVersion.WithKind(kind)].DeepCopyObject().(resourcesemantics.GenericCRD)
		if err := webhookjson.Decode([]byte(text), object, true); err != nil {
			t.Fatal(err)
		}
		return object
	}
	for kind, c := range map[string]struct{ is, was, want string }{
		"Provisioning": {`{"metadata":{"name":"edge-1"},"spec":{"hostNamespace":"b","masters":[{"m":{"cpu":4}}]}}`,
			`{"metadata":{"name":"edge-1"},"spec":{"hostNamespace":"a","masters":[{"m":{"cpu":4}}]}}`, `it cannot be changed from "a" to "b"`},
		"Backup": {`{"metadata":{"name":"b"},"spec":{"provisioning":"edge-2"}}`, `{"metadata":{"name":"b"},"spec":{"provisioning":"edge-1"}}`,
			"the spec of a Backup cannot be changed"},
		"Software": {`{"metadata":{"name":"s"},"spec":{}}`, `{"metadata":{"name":"s"},"spec":{"cluster":"edge-1"}}`, "the Software names no cluster"},
	} {
		err := read(kind, c.is).Validate(apis.WithinUpdate(t.Context(), read(kind, c.was)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", kind, err, c.want)
		}
		if err := read(kind, c.was).Validate(apis.WithinUpdate(t.Context(), read(kind, c.was))); err != nil {
			t.Errorf("%s, unchanged: %v", kind, err)
		}
	}
	object := read("Provisioning", `{"metadata":{"name":"edge-1"},"spec":{}}`)
	if err := webhookjson.Decode([]byte(`{"metadata":{"name":"a"},"spec":{"master":[]}}`), object, true); err == nil || !strings.Contains(err.Error(), `unknown field "master"`) {
		t.Errorf("%v, want an unknown field", err)
	}
}
