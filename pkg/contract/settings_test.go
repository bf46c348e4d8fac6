package contract

import (
	"encoding/json"
	"testing"
)

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
	i := Installed{Request: Request{KubernetesVersion: "1.34.3", Vars: map[string]json.RawMessage{"a": []byte("1")}}}
	if version, settings := i.Level(Node{}); version != "1.34.3" || settings != i.Request.Settings() {
		t.Errorf("a node of an older record has %s and %s", version, settings)
	}
	if version, settings := i.Level(Node{Version: "1.35.4", Settings: "x"}); version != "1.35.4" || settings != "x" {
		t.Errorf("an upgraded node has %s and %s", version, settings)
	}
}
