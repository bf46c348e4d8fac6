package software

import (
	"os/exec"
	"strings"
	"testing"
)

// The module on the nodes accepts the same names and versions, and starts no shell.
func TestModule(t *testing.T) {
	raw, err := playbooks.ReadFile("library/bpa_software.py")
	if err != nil {
		t.Fatal(err)
	}
	module := string(raw)
	for name, pattern := range map[string]string{"NAME": packageName.String(), "VERSION": packageVersion.String(), "SHA256": `[0-9a-f]{64}`} {
		want := name + ` = re.compile(r"` + strings.TrimSuffix(strings.TrimPrefix(pattern, "^"), "$") + `\Z")`
		if !strings.Contains(module, want+"\n") {
			t.Errorf("the module has no %s", want)
		}
	}
	for _, bad := range []string{"shell=True", "os.system", "os.popen", "eval(", "extractall"} {
		if strings.Contains(module, bad) {
			t.Errorf("the module has %s", bad)
		}
	}
	for _, call := range strings.Split(module, `"--", `)[1:] { // what follows "--" is a checked name or a path below the module's own folder
		if word, _, _ := strings.Cut(call, "]"); word != "name" && word != "target" && word != "archive" {
			t.Errorf(`"--" is followed by %s`, word)
		}
	}
}

// The module runs on nodes, so the test runs it with python3: with substitutes for Ansible and for the programs that it
// starts.
func TestModuleActions(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("install python3: ", err)
	}
	cmd := exec.CommandContext(t.Context(), python, "-B", "testdata/module_test.py")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}
