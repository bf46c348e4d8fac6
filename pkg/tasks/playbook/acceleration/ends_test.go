package acceleration

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestModulesEndAsWithoutInterpreter ends modules in all ways that differ in what Python still does, such as with
// open files, hooks or threads, in the process that node.py is on a node. Status, stdout, stderr and files must be those of
// a module that Ansible starts.
func TestModulesEndAsWithoutInterpreter(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "python3", "testdata/ends.py", "plugins")
	var stderr bytes.Buffer
	c.Stderr = &stderr
	stdout, err := c.Output()
	if err != nil {
		t.Fatalf("python3 testdata/ends.py: %v (install python3 if it is missing)\n%s", err, &stderr)
	}
	var ends map[string]struct {
		Plain, Node any
		Shows       string
		Shown       bool
	}
	if err := json.Unmarshal(stdout, &ends); err != nil {
		t.Fatalf("output of testdata/ends.py: %v\n%s", err, stdout)
	}
	if len(ends) == 0 {
		t.Fatal("testdata/ends.py has run no module")
	}
	for name, end := range ends {
		if !end.Shown {
			t.Errorf("%s: the module without the acceleration does not show %q: %v", name, end.Shows, end.Plain)
		}
		if diff := cmp.Diff(end.Plain, end.Node); diff != "" {
			t.Errorf("%s: status, stdout, stderr and files (-without +with the acceleration):\n%s", name, diff)
		}
	}
}
