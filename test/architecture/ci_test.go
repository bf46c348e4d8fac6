package architecture

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCISaysWhatFailed checks the exit status and the messages of .ci/run. In each case, make fails
// for the targets in fails.
func TestCISaysWhatFailed(t *testing.T) {
	for name, c := range map[string]struct {
		fails  string
		status int
		says   string
	}{
		"all is well":                     {fails: "", status: 0},
		"down leaves something":           {fails: "down", status: 1, says: "make down left something"},
		"the tests fail":                  {fails: "test", status: 7},
		"the tests fail, and down":        {fails: "test down", status: 7, says: "make down left something"},
		"lint fails":                      {fails: "lint", status: 7},
		"a vulnerability, or no database": {fails: "vuln", status: 7},
	} {
		root := t.TempDir()
		script, err := os.ReadFile("../../.ci/run")
		if err != nil {
			t.Fatal(err)
		}
		for path, text := range map[string]string{
			".ci/run":  string(script),
			"bin/make": "#!/bin/sh\ncase \" " + c.fails + " \" in *\" $1 \"*) exit 7;; esac\n",
		} {
			path = filepath.Join(root, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command(filepath.Join(root, ".ci/run"))
		cmd.Env = append(os.Environ(), "PATH="+filepath.Join(root, "bin")+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if got := cmd.ProcessState.ExitCode(); got != c.status || !strings.Contains(string(out), c.says) {
			t.Errorf("%s: exit status %d, want %d; said %q, want %q", name, got, c.status, out, c.says)
		}
	}
}
