package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
	"github.com/akraino-icn/bpa/bootstrap/internal/target"
)

// Kind says why a backup was made. Settings.Keep counts the backups of each kind.
type Kind string

// The kinds of backups.
const (
	Scheduled Kind = "scheduled"
	BeforeUp  Kind = "before-up"
	Manual    Kind = "manual" // is never removed
)

// Found is a backup in a target.
type Found struct {
	Path    string // the file, or the address that `machine restore` takes
	Name    string
	Machine string
	Time    time.Time
	Kind    Kind
}

const timeFormat = "20060102T150405Z"

var fileName = regexp.MustCompile(`^bpa-machine-([0-9a-f]{8})-([0-9]{8}T[0-9]{6}Z)-(scheduled|before-up|manual)\.age$`)

func prefixOf(machine string) string { return "bpa-machine-" + machine + "-" }

func nameOf(machine string, at time.Time, kind Kind) string {
	return fmt.Sprintf("%s%s-%s.age", prefixOf(machine), at.UTC().Format(timeFormat), kind)
}

// List returns the backups of a machine in a target, the newest first. An empty machine means all machines.
func List(ctx context.Context, t target.Target, machine string) ([]Found, error) {
	names, err := t.List(ctx)
	if err != nil {
		return nil, err
	}
	var all []Found
	for _, name := range names {
		m := fileName.FindStringSubmatch(name)
		if m == nil || machine != "" && m[1] != machine {
			continue
		}
		if at, err := time.Parse(timeFormat, m[2]); err == nil {
			all = append(all, Found{Path: t.Address(name), Name: name, Machine: m[1], Time: at, Kind: Kind(m[3])})
		}
	}
	slices.SortFunc(all, func(a, b Found) int {
		return cmp.Or(b.Time.Compare(a.Time), strings.Compare(a.Path, b.Path))
	})
	return all, nil
}

// ErrRunning reports that another backup of the machine is being made.
var ErrRunning = errors.New("another backup of this machine is being made")

// Make makes a backup of a running machine in the target of the settings, removes those that are too old, and records
// the result. Without success it removes and replaces no backup. If only the removal fails, it returns the backup too.
func Make(ctx context.Context, l layout.Layout, s Settings, etcd Etcd, kind Kind, now time.Time) (Found, error) {
	unlock, err := lock(l.BackupLock())
	if err != nil {
		return Found{}, err
	}
	defer unlock()
	t, found, err := create(ctx, l, s, etcd, kind, now)
	if err != nil {
		return Found{}, errors.Join(err, record(l, func(r *Record) { r.Failed, r.Error = now, err.Error() }))
	}
	err = record(l, func(r *Record) { *r = Record{Time: now, File: found.Path} })
	if kind != Manual {
		err = errors.Join(err, prune(ctx, t, s.Keep, found))
	}
	return found, err
}

func create(ctx context.Context, l layout.Layout, s Settings, etcd Etcd, kind Kind, now time.Time) (target.Target, Found, error) {
	t, err := s.Target(ctx, l)
	if err != nil {
		return nil, Found{}, err
	}
	id, err := l.ID()
	if err != nil {
		return nil, Found{}, err
	}
	to, err := recipient(s.Recipient)
	if err != nil {
		return nil, Found{}, err
	}
	if err := t.Clean(ctx, prefixOf(id)); err != nil { // no other backup runs, because the caller has the lock
		return nil, Found{}, err
	}
	name := nameOf(id, now, kind)
	err = t.Write(ctx, name, func(w io.Writer) error {
		_, err := write(ctx, w, l, etcd, to, now)
		return err
	})
	return t, Found{Path: t.Address(name), Name: name, Machine: id, Time: now, Kind: kind}, err
}

// prune removes the oldest backups of the kind of the new one, but never the new one: with a wrong clock, it may be
// older than others.
func prune(ctx context.Context, t target.Target, keep int, made Found) error {
	all, err := List(ctx, t, made.Machine)
	kept := 1
	for _, f := range all {
		if f.Kind != made.Kind || f.Name == made.Name {
			continue
		}
		if kept++; kept > keep {
			err = errors.Join(err, t.Remove(ctx, f.Name))
		}
	}
	if err != nil {
		return fmt.Errorf("remove old backups: %w", err)
	}
	return nil
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
