package plugin

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const schemaText = `
parameters:
  type: object
  required: [interface]
  properties:
    interface: {type: string, pattern: "^[a-z0-9]+$"}
    replicas: {type: integer, minimum: 1, default: 2}
    mode: {type: string, enum: [thin, thick], default: thin}
    ratio: {type: number, default: 0.5}
    labels: {type: object, additionalProperties: {type: string}, default: {}}
    nodes:
      type: array
      items:
        type: object
        required: [name]
        properties:
          name: {type: string}
          weight: {type: integer, default: 1}
kubespray:
  vars:
    simple: 1
    whole: $(params.replicas)
    nested: {a: [$(params.labels), "eth-$(params.interface)-$(params.ratio)"]}
`

func withSchema(t testing.TB) Plugin { return load(t, small("plugin.yaml", definition+schemaText)) }

func TestComplete(t *testing.T) {
	p := withSchema(t)
	for in, want := range map[string]string{
		`{"interface":"eth0"}`:                         `{"interface":"eth0","labels":{},"mode":"thin","ratio":0.5,"replicas":2}`,
		`{"interface":"eth0","replicas":5}`:            `{"interface":"eth0","labels":{},"mode":"thin","ratio":0.5,"replicas":5}`,
		`{"interface":"e","nodes":[{"name":"a"}]}`:     `{"interface":"e","labels":{},"mode":"thin","nodes":[{"name":"a","weight":1}],"ratio":0.5,"replicas":2}`,
		`{"interface":"e","labels":{"a":"b"}}`:         `{"interface":"e","labels":{"a":"b"},"mode":"thin","ratio":0.5,"replicas":2}`,
		`{"interface":"e","replicas":900719925474099}`: `{"interface":"e","labels":{},"mode":"thin","ratio":0.5,"replicas":900719925474099}`,
	} {
		got, problems := p.Complete(json.RawMessage(in))
		if len(problems) > 0 {
			t.Errorf("%s: %v", in, problems)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", in, diff)
		}
	}
	if again, _ := p.Complete(json.RawMessage(`{"interface":"eth0"}`)); string(again) != `{"interface":"eth0","labels":{},"mode":"thin","ratio":0.5,"replicas":2}` {
		t.Errorf("a default was changed: %s", again)
	}
}

func TestCompleteRefuses(t *testing.T) {
	p := withSchema(t)
	for in, want := range map[string]string{
		``:                                 `parameter interface of plugin small: is required; see "kubectl bpa plugins show small"`,
		`[]`:                               "the parameters are not an object; write an object, such as {name: value}",
		`{`:                                "the parameters are not JSON: unexpected EOF; write an object, such as {name: value}",
		`{"interface":"e","replica":2}`:    "parameter replica of plugin small: there is no such parameter; use replicas",
		`{"interface":"e","zzz":2}`:        "parameter zzz of plugin small: there is no such parameter; use one of interface, labels, mode, nodes, ratio, replicas",
		`{"interface":"e","replicas":"2"}`: `parameter replicas of plugin small: must be of type integer: "string"; see "kubectl bpa plugins show small"`,
		`{"interface":"e","replicas":0}`:   `parameter replicas of plugin small: should be greater than or equal to 1; see "kubectl bpa plugins show small"`,
		`{"interface":"e","mode":"big"}`:   `parameter mode of plugin small: should be one of [thin thick]; see "kubectl bpa plugins show small"`,
		`{"interface":"E"}`:                `parameter interface of plugin small: should match '^[a-z0-9]+$'; see "kubectl bpa plugins show small"`,
		`{"interface":"e","nodes":[{}]}`:   `parameter nodes[0].name of plugin small: is required; see "kubectl bpa plugins show small"`,
		`{"interface":"e","nodes":[{"nam":"a"}]}`:           `parameter nodes[0].nam of plugin small: there is no such parameter; see "kubectl bpa plugins show small"`,
		`{"interface":"e","replicas":1e400}`:                `the parameters are not JSON: strconv.ParseFloat: parsing "1e400": value out of range; write an object, such as {name: value}`,
		`{"interface":"e","replicas":99999999999999999999}`: `the parameters are not JSON: strconv.ParseInt: parsing "99999999999999999999": value out of range; write an object, such as {name: value}`,
	} {
		_, problems := p.Complete(json.RawMessage(in))
		if len(problems) == 0 {
			t.Errorf("%s was accepted", in)
			continue
		}
		if diff := cmp.Diff(want, problems[0].String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", in, diff)
		}
	}
	if _, problems := load(t, small()).Complete(json.RawMessage(`{"a":1}`)); len(problems) != 1 || problems[0].Path != "a" {
		t.Errorf("a plugin without parameters: %v", problems)
	}
}

func TestKubesprayVars(t *testing.T) {
	p := withSchema(t)
	complete, _ := p.Complete(json.RawMessage(`{"interface":"eth0","labels":{"a":"b"}}`))
	got, err := p.KubesprayVars(complete)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]json.RawMessage{"simple": json.RawMessage("1"), "whole": json.RawMessage("2"), "nested": json.RawMessage(`{"a":[{"a":"b"},"eth-eth0-0.5"]}`)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSubstitute(t *testing.T) {
	values := map[string]any{"n": int64(3), "s": "a: b\n- c", "l": []any{"x"}, "b": true}
	in := map[string]any{"a": "$(params.n)", "b": "x$(params.n)-$(params.b)", "c": []any{"$(params.l)", "$(params.s)"}, "d": "$(HOME) $(params)"}
	got, err := Substitute(in, values)
	want := map[string]any{"a": int64(3), "b": "x3-true", "c": []any{[]any{"x"}, "a: b\n- c"}, "d": "$(HOME) $(params)"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for in, want := range map[string]string{
		"$(params.other)": "a: $(params.other): the parameter has no value",
		"x$(params.l)":    "a: $(params.l): an object or a list cannot be a part of a string",
	} {
		if _, err := Substitute(map[string]any{"a": in}, values); fmt.Sprint(err) != want {
			t.Errorf("%s: got %v, want %s", in, err, want)
		}
	}
}
