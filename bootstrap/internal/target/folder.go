package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// folder is a folder. It must exist, so that nothing is written to a mount point without its disk.
type folder string

const partial = ".partial"

// Check implements Target.
func (f folder) Check(context.Context) error {
	info, err := os.Stat(string(f))
	if err == nil && !info.IsDir() {
		err = errors.New("it is a file")
	}
	if err != nil {
		return fmt.Errorf("there is no folder %s for backups (%w): mount its disk, or create the folder", string(f), err)
	}
	return nil
}

// Write implements Target.
func (f folder) Write(_ context.Context, name string, fill func(io.Writer) error) error {
	path := f.Address(name)
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s exists already: try again in a second", path)
	}
	file, err := os.OpenFile(path+partial, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = fill(file)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(path+partial, path)
	}
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		err = fmt.Errorf("%w: free space in %s, or keep fewer backups (`machine backup configure --keep`)", err, string(f))
	}
	if err != nil {
		return errors.Join(err, os.Remove(path+partial))
	}
	return f.sync()
}

// List implements Target.
func (f folder) List(context.Context) ([]string, error) {
	entries, err := os.ReadDir(string(f))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

// Open implements Target.
func (f folder) Open(_ context.Context, name string) (io.ReadCloser, error) {
	return os.Open(f.Address(name))
}

// Remove implements Target.
func (f folder) Remove(_ context.Context, name string) error { return os.Remove(f.Address(name)) }

// Clean implements Target.
func (f folder) Clean(_ context.Context, prefix string) error {
	left, err := filepath.Glob(f.Address(prefix + "*" + partial))
	for _, path := range left {
		if gone := os.Remove(path); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// Address implements Target.
func (f folder) Address(name string) string { return filepath.Join(string(f), name) }

func (f folder) sync() error {
	dir, err := os.Open(string(f))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
