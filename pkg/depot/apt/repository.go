package apt

import (
	"io"
	"log/slog"
	"maps"
	"os"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// repository is the folder of one system, with its indexes.
type repository struct {
	system string
	files  *os.Root
	root   *os.Root // the depot's root; the index files are below it, see cached
	key    *Key
	// sum returns the SHA-256 of a file below files.
	sum            func(name string) (string, error)
	control        func(file io.ReaderAt, size int64) (Control, error)
	mayStillChange time.Duration
	log            *slog.Logger

	mu       sync.Mutex
	listedAt time.Time // when the last listing of the folder began
	records  map[string]record
	logged   map[string]string // path -> the problem that was logged for it
	// history has the generations that were served, newest first. The first one is served now.
	history []generation
	stale   bool // the records have changed since the newest generation
	served  signedRelease
}

func (r *repository) folder() string { return protocol.PackageFolder(r.system) }

// cached returns the path of an index file, relative to root.
func (r *repository) cached(name string) string { return path.Join(cacheDir, r.system, name) }

// current returns indexes that include every change that was made in the folder before the call.
func (r *repository) current() (generation, error) {
	asked := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.history) > 0 && !r.stale && r.listedAt.After(asked) { // another request listed the folder meanwhile
		return r.history[0], nil
	}
	started := time.Now()
	changed, err := r.update()
	if err != nil {
		return generation{}, err
	}
	if r.stale || len(r.history) == 0 || r.history[0].Changed != changed || !r.hasFiles(r.history[0]) {
		if err := r.generate(changed); err != nil {
			return generation{}, err
		}
	}
	r.listedAt = started
	return r.history[0], nil
}

// update reads the packages that are new or changed and drops the records of removed packages. It
// returns the time of the folder's last change, in Unix nanoseconds.
func (r *repository) update() (changed int64, err error) {
	found, err := listPackages(r.files, r.folder())
	if err != nil {
		return 0, err
	}
	for rest := range r.records {
		if _, there := found.packages[rest]; !there {
			delete(r.records, rest)
			r.stale = true
		}
	}
	for _, rest := range slices.Sorted(maps.Keys(found.packages)) {
		seen := found.packages[rest]
		known, ok := r.records[rest]
		if ok && known.Stamp == seen && !known.again {
			continue
		}
		r.records[rest] = r.read(rest, seen)
		r.stale = r.stale || !ok || !known.same(r.records[rest])
	}
	return found.changed, nil
}

// entry is a package and its path below the system's folder.
type entry struct {
	path string
	record
}

// entries returns the packages of the index, in the order in which the index lists them. If the
// same package is at two paths, kept has only the first path. problems maps the paths of the
// packages that cannot be in the index to the reasons.
func (r *repository) entries() (kept []entry, problems map[string]string) {
	first, problems := map[string]entry{}, map[string]string{}
	for _, at := range slices.Sorted(maps.Keys(r.records)) {
		rec := r.records[at]
		if rec.Problem != "" {
			problems[at] = rec.Problem
			continue
		}
		key := rec.Control.String()
		other, twice := first[key]
		switch {
		case !twice:
			first[key] = entry{at, rec}
		case other.SHA256 != rec.SHA256:
			problems[at] = "it is " + key + " like " + other.path + ", but with other content: remove one of the two files"
		}
	}
	for _, key := range slices.Sorted(maps.Keys(first)) {
		kept = append(kept, first[key])
	}
	return kept, problems
}

// logProblems logs each problem once.
func (r *repository) logProblems(problems map[string]string) {
	for _, at := range slices.Sorted(maps.Keys(problems)) {
		if r.logged[at] != problems[at] {
			r.log.Warn("a package is left out of the index", "system", r.system, "path", at, "why", problems[at])
		}
	}
	r.logged = problems
}
