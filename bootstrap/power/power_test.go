//go:build integration

package power

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestPowerCuts cuts the power again and again while clients write. Nothing that etcd or the depot has acknowledged may
// be lost. A file that nobody has synced must be lost in each cut: otherwise the cut was none.
func TestPowerCuts(t *testing.T) {
	cuts := 20
	if text := os.Getenv("BPA_POWER_CUTS"); text != "" {
		var err error
		if cuts, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	d := newDisk(t)
	e, depot := newEtcd(t, d), newDepot(t, d)
	keys, artifacts := map[string][]byte{}, map[string][]byte{}
	var lost []string
	e.start(t)
	depot.start(t)
	for n := range cuts {
		newKeys, newArtifacts := writeUntilCut(t, n, d, e, depot)
		maps.Copy(keys, newKeys)
		maps.Copy(artifacts, newArtifacts)
		d.off()
		d.on()
		if content, err := os.ReadFile(d.unsynced(n)); err == nil && len(content) > 0 {
			t.Fatalf("cut %d kept a file that was not synced: it was no power cut", n)
		}
		e.start(t)
		depot.start(t)
		lost = append(lost, e.check(t, keys)...)
		lost = append(lost, depot.check(t, newArtifacts)...)
		if len(lost) > 0 {
			t.Fatalf("cut %d lost what was acknowledged: %v", n, lost)
		}
	}
	if lost = depot.check(t, artifacts); len(lost) > 0 {
		t.Fatalf("lost at the end: %v", lost)
	}
	kinds := map[string]int{}
	for key := range artifacts {
		kind, _, _ := strings.Cut(key, "/")
		kinds[kind]++
	}
	t.Logf("%d cuts: %d acknowledged keys and %d acknowledged artifacts %v, 0 lost", cuts, len(keys), len(artifacts), kinds)
}

// TestWithoutSyncKeysAreLost is the test of the test: an etcd that does not sync loses what it has acknowledged.
func TestWithoutSyncKeysAreLost(t *testing.T) {
	d := newDisk(t)
	e := newEtcd(t, d)
	e.start(t)
	before := map[string][]byte{"before": []byte("value")}
	if err := e.write("before", before["before"]); err != nil {
		t.Fatal(err)
	}
	e.kill()
	d.sync() // so that etcd starts again: a cut can also damage the data of an etcd that does not sync
	e.component.Args = append(e.component.Args, "--unsafe-no-fsync")
	e.start(t)
	keys, _ := writeUntilCut(t, 0, d, e, nil)
	d.off()
	d.on()
	e.start(t)
	if lost := e.check(t, before); len(lost) > 0 {
		t.Fatalf("lost what was synced: %v", lost)
	}
	lost := e.check(t, keys)
	if len(lost) == 0 {
		t.Errorf("none of %d acknowledged keys is lost: this test cannot see what a power cut loses", len(keys))
	}
	t.Logf("%d of %d acknowledged keys are lost without fsync", len(lost), len(keys))
}

// writeUntilCut writes with several clients until the power is cut after some acknowledged writes, and returns what
// was acknowledged. The cut comes in the middle of other writes, and ends the servers. Without a depot, it writes keys only.
//
// What is acknowledged after the cut has begun does not count. A machine without power acknowledges nothing, but the
// programs of this test still run: a sync in which the kernel stops the disk can report success, because ext4 marks the
// blocks of a preallocated file as written in a transaction that then fails, and only logs that.
func writeUntilCut(t *testing.T, cut int, d *disk, e etcd, other *depot) (keys, artifacts map[string][]byte) {
	t.Helper()
	keys, artifacts = map[string][]byte{}, map[string][]byte{}
	var mu sync.Mutex
	off := false
	var clients sync.WaitGroup
	acknowledged := make(chan string) // kinds of what was written
	stop := make(chan struct{})
	kinds := map[string]bool{}
	client := func(s store, kind string, record map[string][]byte, key func(n int) string, size int) {
		kinds[kind] = true
		clients.Go(func() {
			for n := 0; ; n++ {
				name, value := key(n), random(1+rand.IntN(size))
				err := s.write(name, value)
				mu.Lock()
				if off {
					mu.Unlock()
					return
				}
				if err != nil {
					mu.Unlock()
					t.Errorf("write %s before the cut: %v", name, err)
					return
				}
				record[name] = value
				mu.Unlock()
				select {
				case acknowledged <- kind:
				case <-stop:
				}
			}
		})
	}
	for c := range 4 {
		client(e, "key", keys, func(n int) string { return fmt.Sprintf("cut-%d/client-%d/%d", cut, c, n) }, 2000)
	}
	if other != nil {
		for c, kind := range []string{"files", "upload", "blob"} {
			client(other, kind, artifacts, func(n int) string { return fmt.Sprintf("%s/cut-%d-client-%d-%d", kind, cut, c, n) }, 200_000)
		}
	}
	if err := os.WriteFile(d.unsynced(cut), random(10_000), 0o600); err != nil {
		t.Fatal(err)
	}
	limit := time.After(time.Minute)
	for n := 20 + rand.IntN(80); n > 0 || len(kinds) > 0; n-- { // something of each kind at least
		select {
		case kind := <-acknowledged:
			delete(kinds, kind)
		case <-limit:
			t.Fatalf("too few writes in a minute: no %v; etcd:\n%s", kinds, e.tail())
		}
	}
	close(stop)
	mu.Lock()
	off = true
	mu.Unlock()
	d.cut()
	e.kill() // ends requests that hang on the dead disk
	if other != nil {
		other.kill()
	}
	clients.Wait()
	return keys, artifacts
}
