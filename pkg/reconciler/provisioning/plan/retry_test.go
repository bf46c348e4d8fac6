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

// TestOldRetryOfADeletedRun: the same if only the run that has processed the annotation is deleted, and an earlier one stays.
func TestOldRetryOfADeletedRun(t *testing.T) {
	w := installedScene(t, "nodes master-1 worker-1 worker-2", "retry old")
	w.tell(t, "host host-3 gone", "retry new", "done")
	w.finish(t)
	w.seen.Runs = w.seen.Runs[:1]
	w.tell(t, "policy-replace Never", "wait 720h")
	if got := w.p.Status.ObservedRetry; got != "new" {
		t.Errorf("status.observedRetry is %q after the newest run was deleted", got)
	}
	w.seen.ObservedRetry = w.p.Status.ObservedRetry // as the next visit reads it
	if w.tell(t, "host host-2 gone"); w.last.Do != Stay {
		t.Errorf("an annotation that a deleted run has processed replaces a lost host: %s", w.describe())
	}
	if w.tell(t, "retry newest"); w.last.Do != StartRun || len(w.last.Replaces) != 1 {
		t.Errorf("a new value of the annotation replaces nothing: %s", w.describe())
	}
}
