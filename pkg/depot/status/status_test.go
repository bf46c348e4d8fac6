package status_test

import (
	"fmt"
	"testing"

	"github.com/akraino-icn/bpa/pkg/depot/status"
	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// A node reports while the report of the only other node of the cluster is deleted.
func TestAReportOutlivesTheLastOneBeforeIt(t *testing.T) {
	s, err := store.OnDisk(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := status.New(s)
	for n := range 60 {
		cluster := fmt.Sprintf("c%d", n)
		if _, err := b.Put(t.Context(), "o", cluster, status.Node{Node: "old"}); err != nil {
			t.Fatal(err)
		}
		gone := make(chan error, 1)
		go func() { gone <- b.Delete(t.Context(), "o", cluster, "old") }()
		_, putErr := b.Put(t.Context(), "o", cluster, status.Node{Node: "new"})
		if err := <-gone; err != nil {
			t.Fatal(err)
		}
		if putErr != nil {
			t.Fatalf("the report: %v", putErr)
		}
		if _, err := b.Get(t.Context(), "o", cluster, "new"); err != nil {
			t.Fatalf("an accepted report: %v", err)
		}
	}
}
