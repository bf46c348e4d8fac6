package limits

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"time"

	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
)

// fresh is how long a measure of what is held is good for: walking a large
// store costs seconds.
const fresh = 15 * time.Second

// StorageMeter measures a storage driver.
type StorageMeter struct {
	Driver storagedriver.StorageDriver
	// Path is what counts, within the driver.
	Path string
	// Dir is a directory on the disk that can be full; empty for other storage.
	Dir string

	mu   sync.Mutex
	used int64
	at   time.Time
}

// Used walks the storage, at most once in a while.
func (m *StorageMeter) Used() (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.at) < fresh {
		return m.used, nil
	}
	var total int64
	err := m.Driver.Walk(context.Background(), m.Path, func(f storagedriver.FileInfo) error {
		if !f.IsDir() {
			total += f.Size()
		}
		return nil
	})
	var absent storagedriver.PathNotFoundError
	if err != nil && !errors.As(err, &absent) {
		return 0, err
	}
	m.used, m.at = total, time.Now()
	return total, nil
}

// Free asks the file system, for a user without privileges.
func (m *StorageMeter) Free() (int64, bool, error) {
	if m.Dir == "" {
		return 0, false, nil
	}
	var s syscall.Statfs_t
	if err := syscall.Statfs(m.Dir, &s); err != nil {
		return 0, false, err
	}
	return int64(s.Bavail) * s.Bsize, true, nil //nolint:gosec // a disk has fewer bytes than that
}
