package secretvars

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestParse(t *testing.T) {
	for name, tc := range map[string]struct {
		variable, text, want string // want is JSON of all variables
	}{
		"a mapping":              {"", "registry_password: s3cret\nlogins:\n- {user: a, pin: 007, tls: true}\n", `{"registry_password":"s3cret","logins":[{"user":"a","pin":7,"tls":true}]}`},
		"JSON":                   {"", `{"a": {"b": [1.50, "x"]}}`, `{"a":{"b":[1.5,"x"]}}`},
		"an empty mapping":       {"", "{}", `{}`},
		"a variable":             {"registry_password", "s3cret\n", `{"registry_password":"s3cret"}`},
		"a variable like YAML":   {"x", `{"a": "<b>"}`, `{"x":"{\"a\": \"<b>\"}"}`},
		"only line ends are cut": {"x", " s3cret \r\n\n", `{"x":" s3cret "}`},
		"an empty variable":      {"x", "", `{"x":""}`},
	} {
		vars, err := Parse(Content{tc.variable, []byte(tc.text)})
		var got, want any
		text, _ := json.Marshal(vars)
		if json.Unmarshal(text, &got) != nil || json.Unmarshal([]byte(tc.want), &want) != nil || err != nil {
			t.Fatalf("%s: %s, %v", name, text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestParseErrorsShowNothing(t *testing.T) {
	for name, tc := range map[string]struct{ variable, text, want string }{
		"no YAML":             {"", "a: 1\nb: {s3cret\n", "is not valid YAML, see line"},
		"a tab":               {"", "a:\n\ts3cret: x\n", "is not valid YAML"},
		"twice the same name": {"", "s3cret: 1\ns3cret: 2\n", "is not valid YAML, see line 2"},
		"a password alone":    {"", "s3cret", "is not a YAML mapping"},
		"a list":              {"", "- s3cret", "is not a YAML mapping"},
		"nothing":             {"", "", "is not a YAML mapping"},
		"a password as name":  {"", "a: 1\ns3cret!: x\n", "number 2 of 2"},
		"other bytes":         {"x", "s3cret\xff", "is not text in UTF-8"},
	} {
		vars, err := Parse(Content{tc.variable, []byte(tc.text)})
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v, %v; want %q", name, vars, err, tc.want)
		}
	}
}

func raw(text string) map[string]json.RawMessage {
	var vars map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &vars); err != nil {
		panic(err)
	}
	return vars
}

func TestDigests(t *testing.T) {
	key := []byte(strings.Repeat("k", KeyBytes))
	of := func(text string) string { return Digests(key, raw(text))["a"] }
	if a, b := of(`{"a": {"x": 1, "y": [2]}}`), of(`{"a":{"y":[2],"x":1}}`); a != b || len(a) != 32 {
		t.Errorf("digests %s and %s of the same value", a, b)
	}
	if of(`{"a": "1"}`) == of(`{"a": 1}`) || of(`{"a": 9007199254740993}`) == of(`{"a": 9007199254740992}`) {
		t.Error("two values have the same digest")
	}
	both := Digests(key, raw(`{"a": "same", "b": "same"}`))
	if both["a"] == both["b"] {
		t.Error("the digests show that two variables have the same value")
	}
	if other := Digests([]byte(strings.Repeat("l", KeyBytes)), raw(`{"a": "same"}`)); other["a"] == both["a"] {
		t.Error("the digest does not depend on the key")
	}
	if Digests(key, nil) != nil {
		t.Error("without variables, there are digests")
	}
}

// plain reads YAML and forgets the tags.
func plain(t *testing.T, text []byte) (value any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(string(text), "!unsafe ", "")), &value); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return value
}

func TestAnsible(t *testing.T) {
	vars := raw(`{"b": "{{ lookup('pipe', 'id') }}", "a": {"list": [1, true, null, 2.5, "x: y # z"], "n": "line\nend\u0085\u2028\u007f\ufeff😀"}}`)
	text, err := Ansible(vars)
	if err != nil {
		t.Fatal(err)
	}
	var want any
	all, _ := json.Marshal(vars)
	_ = json.Unmarshal(all, &want)
	if diff := cmp.Diff(want, plain(t, text)); diff != "" {
		t.Errorf("variables (-want +got):\n%s\n%s", diff, text)
	}
	if n := strings.Count(string(text), "!unsafe \""); n != 3 {
		t.Errorf("%d strings are taken literally, want 3:\n%s", n, text)
	}
	for _, r := range string(text) {
		if r == 0x85 || r == 0x2028 || r == 0x7f || r == 0xfeff {
			t.Errorf("the file has the character %U:\n%s", r, text)
		}
	}
	if text, err := Ansible(nil); err != nil || string(text) != "{}\n" {
		t.Errorf("without variables: %q, %v", text, err)
	}
}

func TestTexts(t *testing.T) {
	got := Texts(raw(`{"a": {"user": "robot", "list": ["one", {"x": 12345678}]}, "b": "one", "c": true}`))
	if diff := cmp.Diff([]string{"12345678", "one", "robot"}, got); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	key := strings.Repeat("k", KeyBytes)
	write(KeyFile, key)
	write(FileName(0, ""), "a: first\nb: first\n")
	write(FileName(1, "b"), "second\n")
	write(FileName(10, ""), "c: third\n")
	if err := os.Mkdir(filepath.Join(dir, "..2026_11_27"), 0o700); err != nil { // kubelet's own
		t.Fatal(err)
	}
	values, err := Read(dir)
	vars, digests := values.Vars, values.Digests
	if err != nil {
		t.Fatal(err)
	}
	want := raw(`{"a": "first", "b": "second", "c": "third"}`)
	if diff := cmp.Diff(want, vars); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Digests([]byte(key), want), digests); diff != "" {
		t.Errorf("digests (-want +got):\n%s", diff)
	}
	write(FileName(2, ""), "s3cret")
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "entry 002 of spec.kubespray.varsFrom is not a YAML mapping") {
		t.Errorf("error %v", err)
	}
	if values, err := Read(""); values.Vars != nil || err != nil {
		t.Errorf("without the workspace: %v, %v", values, err)
	}
	requested := map[string]string{"b": digests["b"], "c": "another", "d": "none"}
	if diff := cmp.Diff([]string{"c", "d"}, values.Differ(requested)); diff != "" {
		t.Errorf("other values (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(raw(`{"b": "second", "c": "third"}`), values.Only(requested)); diff != "" {
		t.Errorf("requested variables (-want +got):\n%s", diff)
	}
	if _, err := Read(filepath.Join(dir, "missing")); err == nil {
		t.Error("a workspace that is missing is no error")
	}
	empty := t.TempDir()
	if err := os.WriteFile(filepath.Join(empty, FileName(0, "a")), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(empty); err == nil {
		t.Error("values without a key of digests are no error")
	}
}
