package main

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// TestEnvIsForAShell: a shell gets the variables, whatever the name of the folder is.
func TestEnvIsForAShell(t *testing.T) {
	t.Setenv("PATH", "/usr/bin:/bin")
	l := layout.Layout{Root: "/srv/it's a $(folder)"}
	var out bytes.Buffer
	cmd := envCommand(l)
	cmd.SetOut(&out)
	cmd.SetArgs(nil)
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	shell := exec.Command("/bin/sh", "-c", `eval "$1"; echo "$KUBECONFIG"; echo "$BPA_STATE"; echo "$PATH"`, "sh", out.String())
	got, err := shell.CombinedOutput()
	want := l.Root + "/kubeconfig\n" + l.Root + "\n" + l.Root + "/bin:/usr/bin:/bin\n"
	if err != nil || string(got) != want {
		t.Errorf("%v, got:\n%swant:\n%s", err, got, want)
	}
	var how bytes.Buffer
	printNextSteps(&how, layout.Layout{Root: "/var/lib/bpa"})
	if !strings.Contains(how.String(), `eval "$(/var/lib/bpa/bin/machine env)"`) {
		t.Errorf("the hint: %s", &how)
	}
}
