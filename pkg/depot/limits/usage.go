package limits

import (
	"os"
	"strings"
	"sync"
	"time"

	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// Usage counts the bytes that the depot holds: blobs, open uploads and plain files. It ignores
// small files of the registry, such as the links from repositories to blobs. Count adds what was
// stored before this process started. Later writes and removals are counted as they happen.
//
// Set the exported fields and call Over before use.
type Usage struct {
	// Dir is a directory on the disk whose free space is measured; empty for other storage.
	Dir string
	// Files is the folder of plain files; nil if there is none.
	Files *os.Root
	// All enables the counting of blobs and plain files. Otherwise only open uploads are counted,
	// which costs almost nothing.
	All bool

	// driver is the wrapped driver.
	driver  storagedriver.StorageDriver
	stripes [stripes]stripe
	plain   folder
	// countingFiles is held while the plain files are counted.
	countingFiles sync.Mutex

	mu    sync.Mutex
	blobs int64
	// uploads holds the open uploads by their folders in the driver.
	uploads map[string]*upload
	// listing is set while Count finds uploads. gone holds the folders that were deleted meanwhile,
	// which Count must not add.
	listing bool
	gone    []string
	counted bool
}

// upload is a folder in which a blob grows.
type upload struct {
	bytes int64
	// inherited is set for an upload of an earlier process that this process has not opened.
	inherited bool
	// writers is the number of open writers, and touched the time of the last activity.
	writers int
	touched time.Time
}

// Held implements Meter.
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

// Counted reports whether Count has ended without an error.
func (c *Usage) Counted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counted
}

// Expect adds the upload in the folder path, which an earlier process began. Without this call,
// Held would report the upload as ended until Count finds it.
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

// Pushes returns the number of open uploads of the registry's clients.
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

// isPush reports whether the upload in a folder belongs to a client of the registry and not to /v1.
func isPush(folder string) bool {
	return !strings.HasPrefix(folder, repositories+protocol.ReservedPrefix)
}

// Free implements Meter: it measures the disk of Dir.
func (c *Usage) Free() (int64, bool, error) {
	if c.Dir == "" {
		return 0, false, nil
	}
	return Disk(c.Dir).Free()
}

// Open returns the open uploads and pushes, and the plain files at the last CountFiles.
func (c *Usage) Open() (uploads, files protocol.Amount) {
	c.mu.Lock()
	defer c.mu.Unlock()
	uploads.Name, files.Name = "open uploads", "files"
	for _, u := range c.uploads {
		uploads.Count++
		uploads.Bytes += u.bytes
	}
	files.Count, files.Bytes = c.plain.amount()
	return uploads, files
}
