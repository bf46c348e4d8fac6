package admission

import (
	"strings"
	"testing"
)

func TestUpgradeSpec(t *testing.T) {
	for text, want := range map[string]struct {
		problem string
		batch   int // of 25 workers
	}{
		"{}":                     {"", 1},
		"{maxUnavailable: 3}":    {"", 3},
		"{maxUnavailable: 100}":  {"", 100},
		"{maxUnavailable: 10%}":  {"", 2},
		"{maxUnavailable: 1%}":   {"", 1},
		"{maxUnavailable: 100%}": {"", 25},
		"{maxUnavailable: 0}":    {"0 is not a positive number: spec.upgrade.maxUnavailable", 1},
		"{maxUnavailable: -1}":   {"-1 is not a positive number", 1},
		"{maxUnavailable: 0%}":   {`"0%" is neither a number nor a percentage from 1% to 100%`, 1},
		"{maxUnavailable: 101%}": {`"101%" is neither`, 1},
		"{maxUnavailable: '3'}":  {`"3" is neither`, 1},
		"{maxUnavailable: many}": {`"many" is neither`, 1},
		"{drainTimeout: 1m}":     {"", 1},
		"{drainTimeout: 0s}":     {"0s is shorter than 1s: spec.upgrade.drainTimeout", 1},
		"{drainTimeout: 900ms}":  {"900ms is shorter than 1s: spec.upgrade.drainTimeout", 1},
		"{drainTimeout: -1m}":    {"-1m0s is shorter than 1s", 1},
		"{maxUnavailable: 0, drainTimeout: 0s, pauseAfterControlPlane: true}": {"spec.upgrade.maxUnavailable", 1},
	} {
		p := provisioning(t, "masters: [{m: {cpu: 1}}]\nupgrade: "+text)
		got := ""
		if err := CheckProvisioning(t.Context(), p); err != nil {
			got = err.Error()
		}
		if (got == "") != (want.problem == "") || !strings.Contains(got, want.problem) {
			t.Errorf("%s: %q, want %q", text, got, want.problem)
		}
		if batch := p.Spec.Upgrade.Batch(25); batch != want.batch {
			t.Errorf("%s: %d of 25 workers at a time, want %d", text, batch, want.batch)
		}
	}
}
