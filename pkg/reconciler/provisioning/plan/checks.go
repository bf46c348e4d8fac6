package plan

import (
	"fmt"
	"strings"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// Checks are what a run has found out about the hosts that are to become nodes.
type Checks struct {
	Run string // its name
	contract.Checks
}

// LastCheck returns the newest run that claims hosts, and so checks them; nil: there is none.
func (s Seen) LastCheck() *Run {
	for i := len(s.Runs) - 1; i >= 0; i-- {
		if contract.OperationOf(s.Runs[i].Operation).Has(contract.TaskSelectHosts) {
			return &s.Runs[i]
		}
	}
	return nil
}

// reportChecks keeps the findings of an earlier run until the next one has checked its hosts, also after that run was deleted.
func reportChecks(status *v1alpha1.ProvisioningStatus, s Seen) {
	if s.Checks == nil {
		return
	}
	found := &v1alpha1.ChecksStatus{Run: s.Checks.Run}
	count := map[string]int{"": s.Checks.Omitted}
	for _, f := range s.Checks.Findings[:min(len(s.Checks.Findings), contract.MostFindings)] {
		count[f.Severity]++
		found.Findings = append(found.Findings, v1alpha1.CheckFinding{
			ID: f.ID, Severity: f.Severity, Hosts: f.Hosts[:min(len(f.Hosts), contract.MostFindingHosts)], HostCount: int32(f.HostCount), Message: cut(f.Message, contract.MostFindingText),
		})
	}
	var parts []string
	for _, c := range []struct{ severity, one, more string }{
		{"error", "error", "errors"}, {"warning", "warning", "warnings"}, {"unknown", "unknown", "unknown"}, {"", "further finding", "further findings"},
	} {
		switch n := count[c.severity]; {
		case n == 1:
			parts = append(parts, "1 "+c.one)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", n, c.more))
		}
	}
	found.Summary = strings.Join(parts, ", ")
	status.Checks = found
}
