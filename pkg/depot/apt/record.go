package apt

import (
	"errors"
	"path"
	"time"

	"github.com/akraino-icn/bpa/pkg/depot/disk"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// record is the result of reading one package.
type record struct {
	Stamp   disk.Stamp `json:"stamp"`
	SHA256  string     `json:"sha256,omitempty"`
	Control Control    `json:"control"`
	// Problem is the reason why the package is left out of the index. It is empty for a package in
	// the index.
	Problem string `json:"problem,omitempty"`
	// again means that the package must be read again: the record may already be out of date, or
	// reading failed for a reason that may be temporary.
	again bool
}

// same reports whether two records give the same index.
func (r record) same(other record) bool {
	return r.Stamp == other.Stamp && r.SHA256 == other.SHA256 && r.Problem == other.Problem
}

// mayStillChange is the age that a file's last change must have before its record is final. A
// younger file may change again without a new time, because two changes within one tick of the file
// system's clock have the same time.
const mayStillChange = 2 * time.Second

// read reads the package at a path below the repository's folder. A temporary error becomes the
// record's Problem too.
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
	if !fetchable.MatchString(rest) {
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
