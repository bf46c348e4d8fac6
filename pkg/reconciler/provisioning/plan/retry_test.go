package plan

import "testing"

// TestOldRetry: an annotation that a run has processed requests no other run because the runs are deleted. Another value does.
func TestOldRetry(t *testing.T) {
	w := installedScene(t, "retry old")
	w.tell(t, "forgotten", "policy-replace Never", "wait 720h", "host host-2 gone")
	if w.last.Do != Stay {
		t.Errorf("the policy is Never, and an annotation that is a month old replaces a lost host: %s", w.describe())
	}
	if w.tell(t, "retry new"); w.last.Do != StartRun || len(w.last.Replaces) != 1 {
		t.Errorf("a new value of the annotation replaces nothing: %s", w.describe())
	}
}
