package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// Kind says why a backup was made. Settings.Keep counts the backups of each kind.
type Kind string

// The kinds of backups.
const (
	Scheduled Kind = "scheduled"
	BeforeUp  Kind = "before-up"
	Manual    Kind = "manual" // is never removed
)

// Found is a backup in a folder.
type Found struct {
	Path    string
	Machine string
	Time    time.Time
	Kind    Kind
}

const (
	timeFormat = "20060102T150405Z"
	partial    = ".partial"
)

var fileName = regexp.MustCompile(`^bpa-machine-([0-9a-f]{8})-([0-9]{8}T[0-9]{6}Z)-(scheduled|before-up|manual)\.age$`)

func nameOf(machine string, at time.Time, kind Kind) string {
	return fmt.Sprintf("bpa-machine-%s-%s-%s.age", machine, at.UTC().Format(timeFormat), kind)
}

// List returns the backups of a machine in a folder, the newest first.
func List(folder, machine string) ([]Found, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var all []Found
	for _, e := range entries {
		m := fileName.FindStringSubmatch(e.Name())
		if m == nil || m[1] != machine {
			continue
		}
		if at, err := time.Parse(timeFormat, m[2]); err == nil {
			all = append(all, Found{Path: filepath.Join(folder, e.Name()), Machine: machine, Time: at, Kind: Kind(m[3])})
		}
	}
	slices.SortFunc(all, func(a, b Found) int {
		return cmp.Or(b.Time.Compare(a.Time), strings.Compare(a.Path, b.Path))
	})
	return all, nil
}

// ErrRunning reports that another backup of the machine is being made.
var ErrRunning = errors.New("another backup of this machine is being made")

// Make makes a backup of a running machine in the folder of the settings, removes those that are too old, and records
// the result. Without success it removes and replaces no backup. If only the removal fails, it returns the backup too.
func Make(ctx context.Context, l layout.Layout, s Settings, etcd Etcd, kind Kind, now time.Time) (Found, error) {
	unlock, err := lock(l.BackupLock())
	if err != nil {
		return Found{}, err
	}
	defer unlock()
	found, err := create(ctx, l, s, etcd, kind, now)
	if err != nil {
		return Found{}, errors.Join(err, record(l, func(r *Record) { r.Failed, r.Error = now, err.Error() }))
	}
	err = record(l, func(r *Record) { *r = Record{Time: now, File: found.Path} })
	if kind != Manual {
		err = errors.Join(err, prune(s, found))
	}
	return found, err
}

func create(ctx context.Context, l layout.Layout, s Settings, etcd Etcd, kind Kind, now time.Time) (Found, error) {
	if err := s.CheckFolder(l); err != nil {
		return Found{}, err
	}
	id, err := l.ID()
	if err != nil {
		return Found{}, err
	}
	to, err := recipient(s.Recipient)
	if err != nil {
		return Found{}, err
	}
	if err := removePartial(s.To, id); err != nil {
		return Found{}, err
	}
	path := filepath.Join(s.To, nameOf(id, now, kind))
	if _, err := os.Lstat(path); err == nil {
		return Found{}, fmt.Errorf("%s exists already: try again in a second", path)
	}
	file, err := os.OpenFile(path+partial, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return Found{}, err
	}
	_, err = write(ctx, file, l, etcd, to, now)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(path+partial, path)
	}
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		err = fmt.Errorf("%w: free space in %s, or keep fewer backups (`machine backup configure --keep`)", err, s.To)
	}
	if err != nil {
		return Found{}, errors.Join(err, os.Remove(path+partial))
	}
	return Found{Path: path, Machine: id, Time: now, Kind: kind}, sync(s.To)
}

// removePartial removes what killed backups of this machine have left. No other one runs, because the caller has the lock.
func removePartial(folder, machine string) error {
	left, err := filepath.Glob(filepath.Join(folder, "bpa-machine-"+machine+"-*"+partial))
	for _, path := range left {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// prune removes the oldest backups of the kind of the new one, but never the new one: with a wrong clock, it may be
// older than others.
func prune(s Settings, made Found) error {
	all, err := List(s.To, made.Machine)
	kept := 1
	for _, f := range all {
		if f.Kind != made.Kind || f.Path == made.Path {
			continue
		}
		if kept++; kept > s.Keep {
			err = errors.Join(err, os.Remove(f.Path))
		}
	}
	if err != nil {
		return fmt.Errorf("remove old backups: %w", err)
	}
	return nil
}

func sync(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func lock(path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		file.Close()
		return nil, ErrRunning
	}
	return func() { file.Close() }, nil
}
