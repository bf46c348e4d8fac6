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
	root   *os.Root // indexes are below it, see cached
	// sum gives the SHA-256 of a file below files.
	sum            func(name string) (string, error)
	control        func(file io.ReaderAt, size int64) (Control, error)
	mayStillChange time.Duration
	log            *slog.Logger

	mu       sync.Mutex
	listedAt time.Time // when the last look at the folder began
	records  map[string]record
	logged   map[string]string // problems that are in the log already
	// history has what was served, the newest first: the first is served now.
	history []generation
	stale   bool // the records have changed since then
}

func (r *repository) folder() string { return protocol.PackageFolder(r.system) }

// cached is where an index is kept, below root.
func (r *repository) cached(name string) string { return path.Join(cacheDir, r.system, name) }

// current returns the indexes of the folder as it is now, or became while this waited.
func (r *repository) current() (generation, error) {
	asked := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.history) > 0 && !r.stale && r.listedAt.After(asked) { // another request's look will do
		return r.history[0], nil
	}
	looked := time.Now()
	changed, err := r.update()
	if err != nil {
		return generation{}, err
	}
	if r.stale || len(r.history) == 0 || r.history[0].Changed != changed || !r.hasFiles(r.history[0]) {
		if err := r.generate(changed); err != nil {
			return generation{}, err
		}
	}
	r.listedAt = looked
	return r.history[0], nil
}

// update reads what is new in the folder, forgets what is gone, and returns when anything last changed.
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

// entry is a package and where it is.
type entry struct {
	path string
	record
}

// entries are the packages that an index has, in its order. Of the same package under two paths it has the first path's; problems says what
// is left out and why, by path.
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
			problems[at] = "it is " + key + " as " + other.path + " is, with other bytes: remove one of them"
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
			r.log.Warn("a package is left out of its index", "system", r.system, "path", at, "why", problems[at])
		}
	}
	r.logged = problems
}
