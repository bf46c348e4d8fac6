package limits

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
)

// folder counts plain files. If users copy a file directly into the folder, it is included from the
// next CountFiles on.
type folder struct {
	mu    sync.Mutex
	total int64
	// count is the number of files at the last CountFiles.
	count int

	// counting is set while CountFiles runs. at is the last file that CountFiles has counted, and
	// sum is the number of bytes so far. If Place stores a file that CountFiles has not reached
	// yet, it adds the size to sum and the name to ahead, so that CountFiles skips this file.
	counting bool
	at       string
	sum      int64
	passed   int
	ahead    map[string]bool
}

func (f *folder) amount() (count int, bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count, f.total
}

func (f *folder) bytes() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.total
}

// CountFiles counts the plain files again. This includes files that users have copied directly into
// their folder.
func (c *Usage) CountFiles(ctx context.Context) error {
	if c.Files == nil {
		return nil
	}
	c.countingFiles.Lock() // two counts would mix their sums
	defer c.countingFiles.Unlock()
	c.plain.begin()
	err := fs.WalkDir(c.Files.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil && name == "." {
			return err
		}
		if err == nil && d.Type().IsRegular() { // else the file was removed or cannot be read
			c.plain.pass(name, d)
		}
		return ctx.Err()
	})
	c.plain.end(err == nil)
	if err != nil {
		return fmt.Errorf("count plain files: %w", err)
	}
	return nil
}

func (f *folder) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counting, f.at, f.sum, f.passed, f.ahead = true, "", 0, 0, map[string]bool{}
}

func (f *folder) pass(name string, d fs.DirEntry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if info, err := d.Info(); err == nil && !f.ahead[name] {
		f.sum += info.Size()
	}
	f.at = name
	f.passed++
}

func (f *folder) end(whole bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if whole {
		f.total, f.count = f.sum, f.passed
	}
	f.counting, f.ahead = false, nil
}

// Place calls move, which gives a plain file its name, and adds the difference in bytes to the
// count. The difference is smaller than the file if the file replaces another one.
func (c *Usage) Place(name string, move func() error) error {
	f := &c.plain
	f.mu.Lock()
	defer f.mu.Unlock()
	before := c.fileSize(name)
	err := move()
	change := c.fileSize(name) - before
	f.total += change
	if !f.counting {
		return err
	}
	passed := f.at != "" && slices.Compare(strings.Split(name, "/"), strings.Split(f.at, "/")) <= 0
	if !passed && !f.ahead[name] {
		f.ahead[name] = true
		f.sum += before
	}
	f.sum += change
	return err
}

func (c *Usage) fileSize(name string) int64 {
	if c.Files == nil {
		return 0
	}
	info, err := c.Files.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return info.Size()
}
