package kubespray

import (
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/playbook"
)

func TestProgressIsWrittenSparingly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		progress := playbook.StartProgress(t.Context(), store, "run-1", "", io.Discard)
		for i := range 1000 { // 10 s of events
			progress.Set(i/10, fmt.Sprint("task ", i/7))
			progress.Set(i/10, fmt.Sprint("task ", i/7))
			time.Sleep(10 * time.Millisecond)
		}
		synctest.Wait()
		if store.writes < 9 || store.writes > 11 {
			t.Errorf("%d writes in 10 s, want one a second", store.writes)
		}
		progress.Set(5, "earlier") // the percentage must not decrease
		progress.End()
		if got, want := store.data[contract.KeyProgress], `{"run":"run-1","percent":99,"step":"earlier"}`; got != want {
			t.Errorf("last stored %s, want %s", got, want)
		}
		before := store.writes
		time.Sleep(time.Minute)
		if store.writes != before {
			t.Error("the writer writes after its end")
		}
	})
}
