//go:build icn

package hostfile

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// sample is ICN's own file, at the last commit that has it. The checkout of make test-icn is a later one.
const sample = "80a8b4ad:deploy/metal3/scripts/nodes.json.sample"

// TestICNsOwnFile reads the sample from the history of the checkout of ICN: see make test-icn.
func TestICNsOwnFile(t *testing.T) {
	text, err := exec.CommandContext(t.Context(), "git", "-C", os.Getenv("ICN"), "show", sample).Output()
	if err != nil {
		t.Fatalf("%s in the history of ICN: %v", sample, err)
	}
	f := parsed(t, "nodes.json", string(text))
	if len(f.Rows) != 2 || !f.OSIgnored || !strings.HasPrefix(Render(f.Rows[0], namespace).Host.Spec.BMC.Address, "ipmi://") {
		t.Errorf("%d rows, OS ignored %t:\n%s", len(f.Rows), f.OSIgnored, rendered(t, f))
	}
}
