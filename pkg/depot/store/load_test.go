package store_test

import (
	"fmt"
	"testing"

	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// A document can be read at any time while it is replaced.
func TestLoadWhileTheDocumentIsReplaced(t *testing.T) {
	s := onDisk(t)
	save := func(n int) error {
		return s.Save(t.Context(), "repo", "tag", store.Document{Type: "application/vnd.test.v1", Config: fmt.Appendf(nil, `{"n":%d}`, n)})
	}
	if err := save(0); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		for n := range 100 {
			if err := save(n + 1); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for {
		if _, err := s.Load(t.Context(), "repo", "tag"); err != nil {
			t.Fatalf("in the middle of a change: %v", err)
		}
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			return
		default:
		}
	}
}
