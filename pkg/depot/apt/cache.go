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

// stateName is what a repository remembers across restarts: a line of JSON for the history, then one for each package.
const stateName = "state.json"

type savedHistory struct {
	History []generation `json:"history"`
}

type savedRecord struct {
	Path string `json:"path"`
	record
}

// save is a saving of time only, so a failure is logged and not passed on.
func (r *repository) save() {
	if err := r.trySave(); err != nil {
		r.log.Warn("what was read of packages cannot be kept and will be read again", "system", r.system, "error", err)
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

// load takes up what an earlier process has saved; what is damaged of it is made again.
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

// hasFiles tells whether what is to be served is still there: the cache may be removed by anybody at any time.
func (r *repository) hasFiles(g generation) bool {
	for _, f := range []indexFile{g.Index, g.Packed} {
		if info, err := r.root.Stat(r.cached(f.SHA256)); err != nil || info.Size() != f.Size {
			return false
		}
	}
	return true
}

// tidy removes indexes that nobody is told of any more, and what a killed process had not finished.
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

// newFile is a file of the cache while it is written.
type newFile struct {
	io.Writer
	file *os.File
	sum  hash.Hash
	in   *repository
	temp string
}

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

// keep names the file by its content.
func (n *newFile) keep() (indexFile, error) {
	info, err := n.file.Stat()
	if err != nil {
		return indexFile{}, err
	}
	done := indexFile{hex.EncodeToString(n.sum.Sum(nil)), info.Size()}
	return done, n.keepAs(done.SHA256)
}

// keepAs gives the file its name once its bytes would survive a crash: else a name could be left with other bytes than it says.
func (n *newFile) keepAs(name string) error {
	if err := n.file.Sync(); err != nil {
		return err
	}
	return n.in.root.Rename(n.temp, n.in.cached(name))
}

// discard closes the file, and removes it unless it was kept. What remains is tidied up later.
func (n *newFile) discard() {
	_ = n.file.Close()
	_ = n.in.root.Remove(n.temp)
}
