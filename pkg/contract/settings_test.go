package contract

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestPatchOf(t *testing.T) {
	i := Installed{Patched: "monday"}
	if got := i.PatchOf(Node{}); got != "monday" {
		t.Errorf("a node without a patch level of its own has %q", got)
	}
	if got := i.PatchOf(Node{Patched: "sunday"}); got != "sunday" {
		t.Errorf("a node with the patch level sunday has %q", got)
	}
}

func TestSettingsDependOnlyOnValues(t *testing.T) {
	vars := func(text string) Request {
		var r Request
		if err := json.Unmarshal([]byte(text), &r.Vars); err != nil {
			t.Fatal(err)
		}
		return r
	}
	base := vars(`{"a": {"x": 1, "y": [1, 2]}, "b": "text"}`).Settings()
	for text, same := range map[string]bool{
		`{"b":"text","a":{"y":[1,2],"x":1}}`:        true,
		`{"b":"text","a":{"y":[2,1],"x":1}}`:        false,
		`{"b":"text2","a":{"y":[1,2],"x":1}}`:       false,
		`{"a":{"y":[1,2],"x":1}}`:                   false,
		`{"b":"text","c":0,"a":{"y":[1,2],"x":1}}`:  false,
		`{"b":"text","a":{"y":[1,2],"x":1.0}}`:      false,
		`{"b":"text","ab":{"y":[1,2],"x":1},"a":1}`: false,
	} {
		if got := vars(text).Settings() == base; got != same {
			t.Errorf("%s: same digest %t, want %t", text, got, same)
		}
	}
}

func TestLevelOfNode(t *testing.T) {
	i := Installed{Request: Spec{KubernetesVersion: "1.34.3", Vars: map[string]json.RawMessage{"a": []byte("1")}}}
	if version, settings := i.Level(Node{}); version != "1.34.3" || settings != i.Request.Settings() {
		t.Errorf("a node of an older record has %s and %s", version, settings)
	}
	if version, settings := i.Level(Node{Version: "1.35.4", Settings: "x"}); version != "1.35.4" || settings != "x" {
		t.Errorf("an upgraded node has %s and %s", version, settings)
	}
}

func TestSettingsDependOnTheRelease(t *testing.T) {
	was := Request{Spec: Spec{Vars: map[string]json.RawMessage{"a": []byte("1")}}}
	named, newer := was, was
	named.Release, newer.Release = DefaultRelease, "v2.32.0"
	if was.Settings() != named.Settings() {
		t.Error("the default release has two names, and two results")
	}
	if was.Settings() == newer.Settings() {
		t.Error("another release gives the same result")
	}
	if a, b := ReleaseOf(was.Settings()), ReleaseOf(newer.Settings()); a != DefaultRelease || b != "v2.32.0" {
		t.Errorf("the releases are %s and %s", a, b)
	}
}

func TestStampedNodes(t *testing.T) {
	i := Installed{Request: Spec{KubernetesVersion: "1.34.3"}, Nodes: []Node{{Name: "m"}, {Name: "w", Version: "1.33.0", Settings: "x"}}}
	if got := i.Stamped(Request{Spec: Spec{KubernetesVersion: "1.34.3", SSHUser: "other"}}); !reflect.DeepEqual(got, i.Nodes) {
		t.Errorf("beside a request of the same version: %+v", got)
	}
	want := []Node{{Name: "m", Version: "1.34.3", Settings: i.Request.Settings()}, {Name: "w", Version: "1.33.0", Settings: "x"}}
	for _, r := range []Request{{Spec: Spec{KubernetesVersion: "1.35.4"}}, {Spec: Spec{KubernetesVersion: "1.34.3", Vars: map[string]json.RawMessage{"a": []byte("1")}}}} {
		if got := i.Stamped(r); !reflect.DeepEqual(got, want) {
			t.Errorf("beside %+v: %+v, want %+v", r, got, want)
		}
	}
	if i.Nodes[0].Version != "" {
		t.Error("the record was changed")
	}
}

// Records of installed clusters have digests without a release, which v2.31.0 has written. They must keep
// their meaning when a later build has another DefaultRelease.
func TestDigestWithoutARelease(t *testing.T) {
	if got := ReleaseOf("0123456789abcdef"); got != "v2.31.0" {
		t.Errorf("a digest without a release is of %s", got)
	}
	for release, want := range map[string]string{"v2.31.0": "e3b0c44298fc1c14", "v2.32.0": "v2.32.0/e3b0c44298fc1c14"} {
		if got := (Request{Spec: Spec{Release: release}}).Settings(); got != want {
			t.Errorf("%s without variables: %s, want %s", release, got, want)
		}
	}
	if got := ReleaseOf(Request{}.Settings()); got != DefaultRelease {
		t.Errorf("a request without a release has the settings of %s", got)
	}
}
