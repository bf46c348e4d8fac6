package convert

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"

	"github.com/akraino-icn/bpa/pkg/runs/tekton"
)

// TestTypesAreAPartOfTektons: each field has the name in JSON, and the kind of type, that it has in Tekton's types.
func TestTypesAreAPartOfTektons(t *testing.T) {
	for _, pair := range [][2]reflect.Type{
		{reflect.TypeFor[tekton.PipelineRunList](), reflect.TypeFor[v1.PipelineRunList]()},
		{reflect.TypeFor[tekton.TaskRunList](), reflect.TypeFor[v1.TaskRunList]()},
	} {
		checkPart(t, pair[0].Name(), pair[0], pair[1])
	}
}

// checkPart compares our type with Tekton's. Types of other modules must be the same ones.
func checkPart(t *testing.T, path string, ours, theirs reflect.Type) {
	t.Helper()
	switch {
	case ours == theirs:
	case ours.Kind() != theirs.Kind():
		t.Errorf("%s is %s, and Tekton's is %s", path, ours, theirs)
	case ours.Kind() == reflect.Pointer, ours.Kind() == reflect.Slice:
		checkPart(t, path, ours.Elem(), theirs.Elem())
	case ours.Kind() == reflect.Struct && strings.HasSuffix(ours.PkgPath(), "/pkg/runs/tekton"):
		for i := range ours.NumField() {
			field := ours.Field(i)
			other, found := theirs.FieldByName(field.Name)
			if !found || other.Tag.Get("json") != field.Tag.Get("json") || other.Anonymous != field.Anonymous {
				t.Errorf("%s.%s %q is not in Tekton's %s", path, field.Name, field.Tag, theirs)
				continue
			}
			checkPart(t, path+"."+field.Name, field.Type, other.Type)
		}
	case ours.Kind() != reflect.String:
		t.Errorf("%s is %s, and Tekton's is %s", path, ours, theirs)
	}
}

// fullRun and fullTask have a value in each field of our types.
const (
	fullRun = `{"kind":"PipelineRun","apiVersion":"tekton.dev/v1","metadata":{"name":"edge-1-install-1","annotations":{"a":"b"}},
"spec":{"pipelineRef":{"resolver":"cluster","params":[{"name":"kind","value":"pipeline"}]},
	"params":[{"name":"text","value":"a"},{"name":"list","value":["a","b"]},{"name":"object","value":{"a":"b"}}],
	"status":"Cancelled","timeouts":{"pipeline":"1h0m0s","tasks":"1h0m0s"},
	"taskRunTemplate":{"podTemplate":{"enableServiceLinks":false},"serviceAccountName":"default"},
	"workspaces":[{"name":"request","configMap":{"name":"a"}},{"name":"ssh","secret":{"secretName":"b"}},{"name":"vars","projected":{"sources":[{"secret":{"name":"c"}}]}}],
	"taskRunSpecs":[{"pipelineTaskName":"enroll","serviceAccountName":"enroll","podTemplate":{"automountServiceAccountToken":true}}]},
"status":{"observedGeneration":1,"conditions":[{"type":"Succeeded","status":"True","reason":"Succeeded"}],
	"startTime":"2026-11-28T00:00:00Z","completionTime":"2026-11-28T01:00:00Z",
	"childReferences":[{"apiVersion":"tekton.dev/v1","kind":"TaskRun","name":"edge-1-install-1-enroll","pipelineTaskName":"enroll"}]}}`
	fullTask = `{"kind":"TaskRun","apiVersion":"tekton.dev/v1","metadata":{"name":"edge-1-install-1-enroll","labels":{"a":"b"}},
"status":{"conditions":[{"type":"Succeeded","status":"False","message":"text"}],"podName":"pod",
	"startTime":"2026-11-28T00:00:00Z","completionTime":"2026-11-28T01:00:00Z",
	"results":[{"name":"text","type":"string","value":"a"},{"name":"list","type":"array","value":["a"]},{"name":"object","type":"object","value":{"a":"b"}}]}}`
)

// TestRunAndTaskRuns: what the conversions return is what the JSON of the object decodes to, but for the fields of the
// spec that BPA only writes. A run that is made for a creation loses nothing.
func TestRunAndTaskRuns(t *testing.T) {
	run, task := decode[tekton.PipelineRun](t, fullRun), decode[tekton.TaskRun](t, fullTask)
	for _, full := range []any{*run, *task} {
		unset(t, reflect.TypeOf(full).Name(), []reflect.Value{reflect.ValueOf(full)})
	}
	made := ToTekton(run)
	if diff := cmp.Diff(decode[v1.PipelineRun](t, fullRun), made); diff != "" {
		t.Errorf("run for a creation (-Tekton's +made):\n%s", diff)
	}
	if diff := cmp.Diff(task, TaskRuns([]*v1.TaskRun{decode[v1.TaskRun](t, fullTask)})[0]); diff != "" {
		t.Errorf("task (-decoded +converted):\n%s", diff)
	}
	run.Spec = tekton.PipelineRunSpec{Params: run.Spec.Params, Status: run.Spec.Status, Workspaces: run.Spec.Workspaces}
	if diff := cmp.Diff(run, Runs([]*v1.PipelineRun{made})[0]); diff != "" {
		t.Errorf("run (-decoded +converted):\n%s", diff)
	}
	if Run(nil) != nil {
		t.Error("no run becomes one")
	}
}

// unset reports the fields of our types that none of the values sets.
func unset(t *testing.T, path string, values []reflect.Value) {
	t.Helper()
	of := values[0].Type()
	if of.Kind() != reflect.Struct || !strings.HasSuffix(of.PkgPath(), "/pkg/runs/tekton") || of == reflect.TypeFor[tekton.ParamValue]() {
		return
	}
	for i := range of.NumField() {
		field := of.Field(i)
		var inner []reflect.Value
		for _, v := range values {
			switch f := v.Field(i); {
			case f.IsZero():
			case f.Kind() == reflect.Slice:
				for j := range f.Len() {
					inner = append(inner, f.Index(j))
				}
			default:
				inner = append(inner, reflect.Indirect(f))
			}
		}
		if len(inner) == 0 {
			t.Errorf("no object of this test has a value in %s.%s", path, field.Name)
			continue
		}
		unset(t, path+"."+field.Name, inner)
	}
}

// TestValue: both read the same of any JSON.
func TestValue(t *testing.T) {
	for _, text := range []string{`"text"`, `["a","b"]`, `[]`, `{"a":"b"}`, `{}`, `null`, `1`, `true`, `[1]`, `{"a":1}`, `{"a":["b"]}`, `[["a"]]`} {
		var ours tekton.ParamValue
		var theirs v1.ParamValue
		if err1, err2 := json.Unmarshal([]byte(text), &ours), json.Unmarshal([]byte(text), &theirs); err1 != nil || err2 != nil {
			t.Fatal(text, err1, err2)
		}
		if diff := cmp.Diff(value(&theirs), ours); diff != "" {
			t.Errorf("%s (-Tekton's +ours):\n%s", text, diff)
		}
	}
}

func decode[T any](t *testing.T, text string) *T {
	t.Helper()
	into := new(T)
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatal(err)
	}
	return into
}
