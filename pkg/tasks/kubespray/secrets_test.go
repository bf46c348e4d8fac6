package kubespray_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/secretvars"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

const secretText = `correct "horse" battery`

// withSecret gives the run a variable that is in a Secret.
func withSecret(w *kubespraytest.Fixture) {
	values := map[string]json.RawMessage{"registry_password": json.RawMessage(quoted(secretText)), "in_vars_too": json.RawMessage(`"not-requested"`)}
	w.In.Secrets = secretvars.Values{Vars: values, Digests: secretvars.Digests([]byte("key"), values)}
	w.In.Request.SecretVars = map[string]string{"registry_password": w.In.Secrets.Digests["registry_password"]}
}

func quoted(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

func TestAnsibleReadsVariablesInSecrets(t *testing.T) {
	w := kubespraytest.New(t, 1)
	withSecret(w)
	var seen string
	succeed := w.Play
	w.Play = func(c process.Command, stdout, stderr io.Writer) int {
		text, err := os.ReadFile(filepath.Join(w.In.ScratchDir, "inventory/group_vars/all/secrets.yml"))
		if err != nil {
			t.Error(err)
		}
		seen = string(text)
		return succeed(c, stdout, stderr)
	}
	if _, err := kubespray.Run(t.Context(), w.In, w.Ports()); err != nil {
		t.Fatal(err)
	}
	if want := "registry_password: !unsafe " + quoted(secretText) + "\n"; seen != want {
		t.Errorf("Ansible reads %q, want %q", seen, want)
	}
}

// Whatever ansible-playbook says of a value, the task shows it nowhere.
func TestTheTaskShowsNoValue(t *testing.T) {
	w := kubespraytest.New(t, 1)
	withSecret(w)
	encoded := base64.StdEncoding.EncodeToString([]byte("robot:" + secretText))
	w.Play = func(_ process.Command, stdout, stderr io.Writer) int {
		fmt.Fprintf(stderr, "[WARNING]: %s\n", secretText)
		event := func(kind, result string) {
			fmt.Fprintf(stdout, `{"_event":%q,"_timestamp":"2026-11-27T10:00:00.000000Z","task":{"name":%s,"id":"1"},"hosts":{%s}}`+"\n", kind, quoted("log in with "+secretText), result)
		}
		event("v2_playbook_on_task_start", "")
		event("v2_runner_on_failed", `"master-1":{"action":"command","msg":`+quoted("refused "+quoted(secretText)+" of "+encoded)+`}`)
		fmt.Fprintf(stdout, `{"_event":"v2_playbook_on_stats","_timestamp":"2026-11-27T10:00:01.000000Z","stats":{"master-1":{"failures":1}}}`+"\n")
		fmt.Fprintf(stdout, "a line that is no event: %s", secretText)
		return 2
	}
	_, err := kubespray.Run(t.Context(), w.In, w.Ports())
	if err == nil || !strings.Contains(err.Error(), "refused") || !strings.Contains(err.Error(), "[hidden]") {
		t.Fatalf("the failure is %v", err)
	}
	for where, text := range map[string]string{"log": w.Log.String(), "failure": err.Error(), "progress": fmt.Sprint(w.Progress.Data), "record": fmt.Sprint(w.Installed.Data)} {
		for _, secret := range []string{"horse", encoded[len(encoded)-12:]} {
			if strings.Contains(text, secret) {
				t.Errorf("the %s shows %q: %s", where, secret, text)
			}
		}
	}
	if !strings.Contains(w.Log.String(), "a line that is no event: [hidden]") {
		t.Errorf("the log has lost the last line:\n%s", w.Log.String())
	}
}

// The record of the cluster gets the digests of the request, so the playbook must not have run with other values.
func TestChangedSecretsStartNothing(t *testing.T) {
	for name, change := range map[string]func(*kubespraytest.Fixture){
		"another value": func(w *kubespraytest.Fixture) { w.In.Request.SecretVars["registry_password"] = "of-before" },
		"no value":      func(w *kubespraytest.Fixture) { w.In.Secrets = secretvars.Values{} },
	} {
		t.Run(name, func(t *testing.T) {
			w := kubespraytest.New(t, 0)
			withSecret(w)
			change(w)
			_, err := kubespray.Run(t.Context(), w.In, w.Ports())
			if err == nil || task.FailureOf(err).Reason != contract.ReasonVarsChanged || !strings.Contains(err.Error(), "registry_password") {
				t.Errorf("failure %v", err)
			}
			if len(w.Ran) > 0 || w.Installed.Writes > 0 {
				t.Errorf("the task ran %v and wrote %v", w.Ran, w.Installed.Data)
			}
		})
	}
}

// A cluster can be removed after its Secrets.
func TestResetNeedsNoSecret(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		contract.KeyRequest: `{"provisioning":"edge-1","namespace":"site","operation":"reset","nodes":[{"name":"worker-1","host":"host-1","hostUID":"uid-1"}],"secretVars":{"registry_password":"0f"}}`,
		contract.KeyVersion: strconv.Itoa(contract.Version),
		node.KeyFile:        "key", contract.KeyHostsINI: "[all]\n", contract.KeyGroupVars: "{}",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	vars := t.TempDir()
	if err := os.WriteFile(filepath.Join(vars, secretvars.FileName(0, "")), []byte("no mapping"), 0o600); err != nil {
		t.Fatal(err)
	}
	mounts := kubespray.Mounts{RequestDir: dir, InventoryDir: dir, SSHDir: dir, VarsDir: vars}
	in := session.Input{Playbook: contract.PlaybookReset}
	if err := mounts.Fill(&in, "site", "edge-1"); err != nil {
		t.Errorf("reset: %v", err)
	}
	if err := in.CheckSecrets(); err != nil {
		t.Errorf("reset: %v", err)
	}
	in = session.Input{Playbook: contract.PlaybookInstall}
	if err := mounts.Fill(&in, "site", "edge-1"); err == nil || !strings.Contains(err.Error(), "entry 000 of spec.kubespray.varsFrom is not a YAML mapping") {
		t.Errorf("installation: %v", err)
	}
}
