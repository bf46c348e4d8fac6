package v1alpha1

import (
	"testing"
	"time"
)

func TestDrainTimeoutOfAnUpgrade(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 10 * time.Minute, "timeouts: {drain: 3m}": 3 * time.Minute, "timeouts: {drain: 3m}\nupgrade: {drainTimeout: 1h}": time.Hour,
		"upgrade: {drainTimeout: 0s}": 10 * time.Minute,
	} {
		p := provisioning(t, "masters: [{m: {cpu: 1}}]\n"+text)
		if got := p.Spec.DrainTimeout(); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
