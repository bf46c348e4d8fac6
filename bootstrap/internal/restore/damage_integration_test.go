//go:build integration

package restore

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/akraino-icn/bpa/bootstrap/internal/config"
)

// TestADamagedEtcdIsRestored: an etcd whose disk has lost or changed what it has reported as stored does not start, and a backup
// replaces it.
func TestADamagedEtcdIsRestored(t *testing.T) {
	site := newMachine(t, filepath.Join(t.TempDir(), "site"))
	site.setUp(t)
	site.start(t, config.ControlPlane.Etcd)
	file, key := site.backupUnderWrites(t)
	site.s.Stop()

	db, err := os.OpenFile(site.Data("etcd", "member", "snap", "db"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Write(make([]byte, 2*os.Getpagesize())); err != nil { // the pages that say where all others are
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	site.begin(t, config.ControlPlane.Etcd)
	await(t, "the end of etcd", func() bool {
		log, _ := os.ReadFile(filepath.Join(site.log, "etcd.log"))
		return bytes.Contains(log, []byte("panic: failed to open database"))
	})
	site.s.Stop()

	if _, err := site.restore(t, file.path, key).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	site.start(t, config.ControlPlane.Etcd)
	defer site.s.Stop()
	for client, before := range file.before {
		if have := site.keys(t, fmt.Sprintf("test/%d/", client)); len(have) < before {
			t.Errorf("client %d: %d keys, but %d were acknowledged before the backup", client, len(have), before)
		}
	}
}

// TestAFullDiskLosesNothing fills the disk of etcd while a client writes: writes are refused, and when there is space again, all that was
// acknowledged is there.
func TestAFullDiskLosesNothing(t *testing.T) {
	disk := smallDisk(t, "256m")
	site := newMachine(t, filepath.Join(disk, "site"))
	site.setUp(t)
	site.start(t, config.ControlPlane.Etcd)
	var free unix.Statfs_t
	if err := unix.Statfs(disk, &free); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(disk, "other")
	if err := os.WriteFile(other, make([]byte, int64(free.Bavail)*free.Bsize-4<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	post := site.etcdClient(t)
	put := func(n int) error {
		return post("/v3/kv/put", pair{Key: fmt.Appendf(nil, "test/%06d", n), Value: bytes.Repeat([]byte{'x'}, 64<<10)}, &struct{}{})
	}
	acknowledged := 0
	for ; acknowledged < 4000; acknowledged++ { // 250 MiB
		if err := put(acknowledged); err != nil {
			t.Logf("after %d writes: %v", acknowledged, err)
			break
		}
	}
	if acknowledged == 4000 || acknowledged == 0 {
		t.Fatalf("%d writes on a disk that is full", acknowledged)
	}
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	await(t, "etcd, with space again", func() bool { return put(acknowledged) == nil })
	have := site.keys(t, "test/")
	for n := range acknowledged {
		if have[fmt.Sprintf("test/%06d", n)] == "" {
			t.Errorf("write %d of %d was acknowledged and is lost", n, acknowledged)
		}
	}
}
