package apt

import (
	"bufio"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
)

// stateName is the file that keeps a repository's state across restarts. It has one line of JSON
// for the history, then one line for each package.
const stateName = "state.json"

type savedHistory struct {
	History []generation `json:"history"`
}

type savedRecord struct {
	Path string `json:"path"`
	record
}

// save writes the repository's state to stateName. The file only saves time after a restart, so
// save logs a failure instead of returning it.
func (r *repository) save() {
	if err := r.trySave(); err != nil {
		r.log.Warn("cannot save the data of the packages: the depot will read all packages again after a restart", "system", r.system, "error", err)
	}
}

func (r *repository) trySave() error {
	f, err := r.newFile()
	if err != nil {
		return err
	}
	defer f.discard()
	buffered := bufio.NewWriter(f)
	out := json.NewEncoder(buffered)
	if err := out.Encode(savedHistory{r.history}); err != nil {
		return err
	}
	for _, at := range slices.Sorted(maps.Keys(r.records)) {
		if r.records[at].again {
			continue
		}
		if err := out.Encode(savedRecord{at, r.records[at]}); err != nil {
			return err
		}
	}
	if err := buffered.Flush(); err != nil {
		return err
	}
	return f.keepAs(stateName)
}

// load reads the state that an earlier process saved. Records that are missing or damaged are read
// from the packages again.
func (r *repository) load() {
	f, err := r.root.Open(r.cached(stateName))
	if err != nil {
		return
	}
	defer f.Close()
	in := json.NewDecoder(bufio.NewReader(f))
	var saved savedHistory
	if err := in.Decode(&saved); err != nil {
		return
	}
	r.history = saved.History
	for {
		var rec savedRecord
		if err := in.Decode(&rec); err != nil {
			r.stale = !errors.Is(err, io.EOF)
			return
		}
		r.records[rec.Path] = rec.record
	}
}

// hasFiles reports whether the index files of g still exist with the right size. Users may remove
// the cache at any time.
func (r *repository) hasFiles(g generation) bool {
	for _, f := range []indexFile{g.Index, g.Packed} {
		if info, err := r.root.Stat(r.cached(f.SHA256)); err != nil || info.Size() != f.Size {
			return false
		}
	}
	return true
}

// tidy removes the indexes that are not in the history, and the temporary files of a killed
// process.
func (r *repository) tidy() {
	keep := map[string]bool{stateName: true}
	for _, g := range r.history {
		keep[g.Index.SHA256], keep[g.Packed.SHA256] = true, true
	}
	entries, err := fs.ReadDir(r.root.FS(), r.cached(""))
	for _, e := range entries {
		if !keep[e.Name()] {
			err = errors.Join(err, r.root.Remove(r.cached(e.Name())))
		}
	}
	if err != nil {
		r.log.Warn("old package indexes cannot be removed", "system", r.system, "error", err)
	}
}

// newFile is a file of the cache that is being written.
type newFile struct {
	io.Writer
	file *os.File
	sum  hash.Hash
	in   *repository
	temp string
}

// newFile creates a temporary file in the cache. The caller must call discard.
func (r *repository) newFile() (*newFile, error) {
	if err := r.root.MkdirAll(r.cached(""), 0o755); err != nil {
		return nil, err
	}
	temp := r.cached(".tmp-" + rand.Text())
	f, err := r.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	return &newFile{Writer: io.MultiWriter(f, sum), file: f, sum: sum, in: r, temp: temp}, nil
}

// keep renames the file to the SHA-256 of its content.
func (n *newFile) keep() (indexFile, error) {
	info, err := n.file.Stat()
	if err != nil {
		return indexFile{}, err
	}
	done := indexFile{hex.EncodeToString(n.sum.Sum(nil)), info.Size()}
	return done, n.keepAs(done.SHA256)
}

// keepAs syncs the file and then renames it. Without the sync, a crash could leave a file whose
// content does not match its name.
func (n *newFile) keepAs(name string) error {
	if err := n.file.Sync(); err != nil {
		return err
	}
	return n.in.root.Rename(n.temp, n.in.cached(name))
}

// discard closes the file, and removes it unless keep or keepAs has renamed it. tidy removes any
// file that discard cannot remove.
func (n *newFile) discard() {
	_ = n.file.Close()
	_ = n.in.root.Remove(n.temp)
}
