package limits

import (
	"os"
	"strings"
	"sync"
	"time"

	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// Usage knows how many bytes the depot holds: blobs, uploads under way, and
// plain files. Links and notes, of some bytes each, are left out. What was there
// before the process is counted by Count; from its start on what is written and
// removed is counted as it happens.
//
// Set the fields before use, and wrap a driver.
type Usage struct {
	// Dir is a directory on the disk that can be full; empty for other storage.
	Dir string
	// Files is the folder of plain files; nil if there is none.
	Files *os.Root
	// All says that somebody asks how much is held. Else only uploads under way
	// are counted, which costs next to nothing.
	All bool

	// driver is what it counts, without the counting.
	driver  storagedriver.StorageDriver
	stripes [stripes]stripe
	plain   folder

	mu    sync.Mutex
	blobs int64
	// uploads are those under way, by their folders in the driver.
	uploads map[string]*upload
	// listing says that Count looks for uploads; gone are the folders that were
	// deleted meanwhile.
	listing bool
	gone    []string
	counted bool
}

// upload is a folder in which a blob grows.
type upload struct {
	bytes int64
	// inherited says that nobody has opened it in this process.
	inherited bool
	// writers is how many work on it, and touched when one did last.
	writers int
	touched time.Time
}

// Held is how many bytes the depot holds, and how many of them are of each of
// the uploads, all at one moment. An upload that has ended has -1.
func (c *Usage) Held(uploads []string) (held int64, there []int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	held = c.blobs + c.plain.bytes()
	for _, u := range c.uploads {
		held += u.bytes
	}
	for _, path := range uploads {
		if u, open := c.uploads[path]; open {
			there = append(there, u.bytes)
		} else {
			there = append(there, -1)
		}
	}
	return held, there
}

// Counted says whether what was there before the process is counted.
func (c *Usage) Counted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counted
}

// Expect makes sure that an upload of an earlier process is not taken for one
// that has ended, before it is found.
func (c *Usage) Expect(path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.uploads[path] == nil {
		c.put(path, &upload{inherited: true, touched: time.Now()})
	}
}

func (c *Usage) put(path string, u *upload) {
	if c.uploads == nil {
		c.uploads = map[string]*upload{}
	}
	c.uploads[path] = u
}

// Pushes is how many uploads of the registry's clients are under way.
func (c *Usage) Pushes() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for path := range c.uploads {
		if isPush(path) {
			n++
		}
	}
	return n
}

// isPush tells a client's upload from those of the depot's own.
func isPush(folder string) bool {
	return !strings.HasPrefix(folder, repositories+protocol.ReservedPrefix)
}

// Free is the room on the disk of Dir.
func (c *Usage) Free() (int64, bool, error) {
	if c.Dir == "" {
		return 0, false, nil
	}
	return Disk(c.Dir).Free()
}
