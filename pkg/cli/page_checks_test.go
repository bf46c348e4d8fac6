package cli

import (
	"testing"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// TestChecksAreOneLine of the page; good hosts are none.
func TestChecksAreOneLine(t *testing.T) {
	some := &v1alpha1.ChecksStatus{Run: "edge-1-install-3", Summary: "2 warnings, 1 unknown", Findings: []v1alpha1.CheckFinding{{ID: "swap"}, {ID: "time-source"}, {ID: "time-source"}, {ID: "memory\x1b[2J"}}}
	for want, c := range map[string]*v1alpha1.ChecksStatus{
		"": {Run: "edge-1-install-3"},
		"2 warnings, 1 unknown of the hosts in edge-1-install-3: swap, time-source, memory": some,
	} {
		if got := checksText(c); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := checksText(nil); got != "" {
		t.Errorf("before a run: %q", got)
	}
}
