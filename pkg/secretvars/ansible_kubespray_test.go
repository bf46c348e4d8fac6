//go:build kubespray

package secretvars

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestValuesAreLiteralOnKubespraysAnsible: kubespray's Ansible reads the file beside the inventory as the task writes it. The values
// win over those of bpa.json, and no template in them is evaluated, also through a variable that refers to one.
func TestValuesAreLiteralOnKubespraysAnsible(t *testing.T) {
	ansible, err := exec.LookPath("ansible-playbook")
	if err != nil {
		t.Fatalf("%v: put an environment with kubespray's requirements.txt into PATH", err)
	}
	const value = "{{ lookup('pipe', 'touch ran') }} \"q\" 'x' \u0085 \u2028 \U0001f600 \\ #c: \u00fc"
	vars := map[string]json.RawMessage{"logins": json.RawMessage(`[{"none":null,"pin":7,"pw":"{% raw %}","tls":true}]`)}
	if vars["registry_password"], err = json.Marshal(value); err != nil {
		t.Fatal(err)
	}
	secrets, err := Ansible(vars)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"inventory/hosts.ini":                  "[all]\nn1 ansible_connection=local ansible_python_interpreter=" + filepath.Join(filepath.Dir(ansible), "python3") + "\n",
		"inventory/group_vars/all/bpa.json":    `{"registry_password": "(in a Secret, 0f)", "refers": "{{ registry_password }}"}`,
		"inventory/group_vars/all/secrets.yml": string(secrets),
		"play.yml":                             "- hosts: all\n  gather_facts: false\n  tasks:\n  - copy: {content: '{{ [registry_password, refers, logins] | to_json }}', dest: '{{ playbook_dir }}/out.json'}\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), ansible, "-i", "inventory/hosts.ini", "play.yml")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "out.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	want := []any{value, value, []any{map[string]any{"none": nil, "pin": 7.0, "pw": "{% raw %}", "tls": true}}}
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("a template in a value ran")
	}
}
