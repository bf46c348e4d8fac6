package apt

import (
	"errors"
	"path"
	"time"

	"github.com/akraino-icn/bpa/pkg/depot/disk"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// record is what was found out about one package.
type record struct {
	Stamp   disk.Stamp `json:"stamp"`
	SHA256  string     `json:"sha256,omitempty"`
	Control Control    `json:"control"`
	// Problem says why the package cannot be in an index. Empty: it can.
	Problem string `json:"problem,omitempty"`
	// again: what was read may already be out of date, or reading failed for a reason that may pass.
	again bool
}

// same tells whether two records make the same index.
func (r record) same(other record) bool {
	return r.Stamp == other.Stamp && r.SHA256 == other.SHA256 && r.Problem == other.Problem
}

// mayStillChange is how old a file's last change must be before what was read of it is kept: two changes within one tick of the file system's
// clock look alike.
const mayStillChange = 2 * time.Second

// read finds out about the package at a path below the repository's folder. A problem that may pass is one too.
func (r *repository) read(rest string, seen disk.Stamp) record {
	found, err := r.tryRead(rest)
	if err != nil {
		return record{Stamp: seen, Problem: problemText(err), again: !errors.Is(err, ErrFormat)}
	}
	return found
}

func problemText(err error) string {
	if errors.Is(err, ErrFormat) {
		return err.Error()
	}
	return "it cannot be read: " + err.Error()
}

var errChanging = errors.New("it changed while it was read")

func (r *repository) tryRead(rest string) (record, error) {
	started := time.Now()
	if !askable.MatchString(rest) {
		return record{}, malformed("apt cannot fetch a file of that name: rename it")
	}
	name := path.Join(protocol.AptFolder, r.system, rest)
	f, before, err := openRegular(r.files, name)
	if err != nil {
		return record{}, err
	}
	defer f.Close()
	s := disk.StampOf(before)
	young := started.Sub(time.Unix(0, s.Changed)) <= r.mayStillChange
	control, err := r.control(f, before.Size())
	if err != nil {
		return record{Stamp: s, Problem: problemText(err), again: young || !errors.Is(err, ErrFormat)}, nil
	}
	sum, err := r.sum(name)
	if err != nil {
		return record{}, err
	}
	after, err := r.files.Stat(name)
	if err != nil {
		return record{}, err
	}
	if disk.StampOf(after) != s {
		return record{}, errChanging
	}
	return record{Stamp: s, SHA256: sum, Control: control, again: young}, nil
}
