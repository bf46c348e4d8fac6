package supervisor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account gives the component's user what it needs, and returns the user. It returns nil if the component runs as root.
//
// It runs before each start, because root can write what belongs to a component while that is stopped: a renewed key, a
// restored backup, content of the depot that was copied back, or all data of a machine whose components ran as root.
func (c Component) account() (*syscall.Credential, error) {
	if c.User == "" {
		return nil, nil
	}
	found, err := user.Lookup(c.User)
	if err != nil {
		return nil, fmt.Errorf("%w: run `machine up`, which creates it", err)
	}
	uid, err := strconv.Atoi(found.Uid)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.Atoi(found.Gid)
	if err != nil {
		return nil, err
	}
	for _, folder := range c.Owns {
		if err := takeOver(folder, uid); err != nil {
			return nil, err
		}
	}
	for _, file := range c.Reads {
		if err := share(file, gid); err != nil {
			return nil, err
		}
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil //nolint:gosec // ids of a user
}

// takeOver makes a user the owner of a folder, or of a file, and of all that is in it. It makes a folder that does not exist. It follows no
// link, so that nothing in the folder leads it elsewhere.
func takeOver(path string, uid int) error {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	parent, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer parent.Close()
	return fs.WalkDir(parent.FS(), filepath.Base(path), func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) == uid {
			return nil
		}
		return parent.Lchown(name, uid, -1)
	})
}

// share lets the group of a user read a file that belongs to another one.
func share(path string, gid int) error {
	if err := os.Lchown(path, -1, gid); err != nil {
		return err
	}
	return os.Chmod(path, 0o640)
}
