package contract

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWasRestored: an older value of the annotation is not asked again.
func TestWasRestored(t *testing.T) {
	var record Installed
	if err := json.Unmarshal([]byte(`{"restored":"b-0","restoring":"b-1"}`), &record); err != nil {
		t.Fatal(err)
	}
	stored := record
	for i := 1; i <= 11; i++ {
		record.SetRestored(fmt.Sprint("b-", i))
	}
	record.SetRestored("b-11") // an attempt that only completes the rest
	want := []string{"b-2", "b-3", "b-4", "b-5", "b-6", "b-7", "b-8", "b-9", "b-10"}
	if diff := cmp.Diff(want, record.RestoredBefore); diff != "" || record.Restored != "b-11" || record.Restoring != "" {
		t.Errorf("record %+v, before (-want +got):\n%s", record, diff)
	}
	for asked, is := range map[string]bool{"b-1": false, "b-2": true, "b-11": true, "b-12": false} {
		if record.WasRestored(asked) != is {
			t.Errorf("%s: %t", asked, !is)
		}
	}
	if stored.Restored != "b-0" || !stored.WasRestored("b-0") || stored.WasRestored("b-1") {
		t.Errorf("the old record is %+v", stored)
	}
}
