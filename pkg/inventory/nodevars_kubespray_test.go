//go:build kubespray

package inventory

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Ansible reads each value of a node's variable exactly, and evaluates the templates in it.
func TestNodeVariablesOnKubespraysAnsible(t *testing.T) {
	vars := map[string]string{
		"number": "110", "negative": "-7", "large": "9223372036854775807", "larger": "123456789012345678901234567890", "float": "0.25", "exponent": "1e300",
		"yes": "true", "no": "false", "nothing": "null", "empty": `""`, "empty_list": "[]", "empty_dict": "{}",
		"like_a_float": `"1.0"`, "like_yes": `"yes"`, "like_octal": `"007"`, "like_true": `"True"`, "like_none": `"None"`, "like_a_list": `"[1, 2]"`, "like_a_dict": `"{}"`,
		"spaces": `"  a  b  "`, "quotes": `"it's \"so\""`, "backslash": `"a\\n\\u0041\\"`, "comment": `"a # b ; c"`, "equals": `"a=b c=d"`, "lines": `"a\nb\r\n\tc\n"`,
		"unicode": `"Grüße – 日本 🚀 \u0000\u007f\u2028"`, "section": `"[all:vars]\nansible_connection=local"`, "range": `"node[1:3]"`,
		"nested":   `{"b": {"x": [1, "two", null, {"deep": true}], "it's": "#"}, "a": []}`,
		"template": `"{{ number + 1 }}"`, "in_a_list": `["{{ inventory_hostname }}", "{{ ansible_host }}:{{ 'x' ~ \"y\" }}"]`, "no_template": `"{{ '{{' }} x }}"`,
		"of_all": `"of the node"`, "a_dict": `{"of": "the node"}`,
		"deep": strings.Repeat("[", deepest-1) + strings.Repeat("]", deepest-1),
	}
	own := map[string]json.RawMessage{}
	for name, value := range vars {
		own[name] = json.RawMessage(value)
	}
	r := request(func(r *contract.Request) {
		r.Vars = map[string]json.RawMessage{"of_all": json.RawMessage(`"of the cluster"`), "a_dict": json.RawMessage(`{"of": "the cluster", "more": 1}`)}
		r.Slots, r.Sets = []contract.Slot{{Name: "m-1"}}, []contract.Set{{Name: "s", Vars: own, Taints: []string{"b=:PreferNoSchedule"}}}
	})
	rendered, err := Render(r, []contract.Node{both("m-1", "10.60.0.1"), {Name: "s-1", Set: "s", Roles: []string{contract.RoleWorker}, Address: "10.60.0.2"}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range map[string][]byte{"hosts.ini": rendered.HostsINI, "group_vars/all/bpa.json": rendered.GroupVars} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	hostvars := func(host string) map[string]any {
		out := ansible(t, dir, "ansible-inventory", "-i", filepath.Join(dir, "hosts.ini"), "--host", host)
		parsed, err := parseJSON(out)
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return parsed.(map[string]any)
	}
	got := hostvars("s-1")
	for name, value := range vars {
		want, err := parseJSON(json.RawMessage(value))
		if err != nil {
			t.Fatal(err)
		}
		if name == "exponent" { // Python writes it with a sign
			want = json.Number("1e+300")
		}
		if !reflect.DeepEqual(want, got[name]) { // cmp.Diff takes hours for deep values
			t.Errorf("%s of the node is %#v, want %#v", name, got[name], want)
		}
	}
	if other := hostvars("m-1"); other["of_all"] != "of the cluster" || other["number"] != nil {
		t.Errorf("variables of another node: %v and %v", other["of_all"], other["number"])
	}
	if got["ansible_host"] != "10.60.0.2" || got["node_taints"] == nil || got["ansible_connection"] != nil {
		t.Errorf("the variables of BPA: %v", got)
	}
	out := ansible(t, dir, "ansible", "-i", filepath.Join(dir, "hosts.ini"), "s-1", "-c", "local", "-m", "ansible.builtin.debug", "-a", "msg={{ [template, in_a_list, no_template] }}")
	_, text, _ := strings.Cut(string(out), "=>")
	var shown struct{ Msg []any }
	if err := json.Unmarshal([]byte(text), &shown); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if diff := cmp.Diff([]any{111.0, []any{"s-1", "10.60.0.2:xy"}, "{{ x }}"}, shown.Msg); diff != "" {
		t.Errorf("templates (-want +got):\n%s", diff)
	}
}

func ansible(t *testing.T, dir, program string, args ...string) []byte {
	t.Helper()
	command := exec.Command(program, args...)
	command.Dir, command.Env = dir, append(os.Environ(), "ANSIBLE_JINJA2_NATIVE=True", "ANSIBLE_LOCAL_TEMP="+dir, "HOME="+dir, "LC_ALL=C.UTF-8")
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s: the PATH must have the Ansible of kubespray", program, err, out, &stderr)
	}
	return out
}
