package session_test

import (
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session/sessiontest"
	"github.com/akraino-icn/bpa/pkg/tasks/playbook"
)

func TestProgressIsWrittenSparingly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &sessiontest.Memory{}
		progress := playbook.StartProgress(t.Context(), store, "run-1", "", io.Discard)
		for i := range 1000 { // 10 s of events
			progress.Set(i/10, fmt.Sprint("task ", i/7))
			progress.Set(i/10, fmt.Sprint("task ", i/7))
			time.Sleep(10 * time.Millisecond)
		}
		synctest.Wait()
		if store.Writes < 9 || store.Writes > 11 {
			t.Errorf("%d writes in 10 s, want one a second", store.Writes)
		}
		progress.Set(5, "earlier") // the percentage must not decrease
		progress.End()
		if got, want := store.Data[contract.KeyProgress], `{"run":"run-1","percent":99,"step":"earlier"}`; got != want {
			t.Errorf("last stored %s, want %s", got, want)
		}
		before := store.Writes
		time.Sleep(time.Minute)
		if store.Writes != before {
			t.Error("the writer writes after its end")
		}
	})
}
