package inventory

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestSecretVars: the inventory has no value of a variable in a Secret, but another one when the value changes.
func TestSecretVars(t *testing.T) {
	r := request()
	r.PluginVars = map[string]json.RawMessage{"registry_password": json.RawMessage(`"plugin"`)}
	r.SecretVars = map[string]string{"registry_password": "0f", "auto_renew_certificates": "1e"}
	made, err := Render(r, sample())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	if err := json.Unmarshal(made.GroupVars, &got); err != nil {
		t.Fatal(err)
	}
	if got["registry_password"] != "(in a Secret, 0f)" || got["auto_renew_certificates"] != "(in a Secret, 1e)" {
		t.Errorf("variables %s", made.GroupVars)
	}
	r.SecretVars["registry_password"] = "10"
	if other, err := Render(r, sample()); err != nil || other.Digest() == made.Digest() {
		t.Errorf("the inventory does not change with the value: %v", err)
	}
	r.SecretVars = map[string]string{"ansible_host": "0f"}
	if _, err := Render(r, sample()); err == nil || !strings.Contains(err.Error(), "ansible_host") {
		t.Errorf("a variable of the connection: %v", err)
	}
}
