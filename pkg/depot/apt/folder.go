package apt

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// stamp tells two contents of one path apart without reading them; nobody can set a file's change time.
type stamp struct {
	Size    int64  `json:"size"`
	Inode   uint64 `json:"inode"`
	Changed int64  `json:"changedUnixNano"`
}

func stampOf(info fs.FileInfo) stamp {
	s := stamp{Size: info.Size(), Changed: info.ModTime().UnixNano()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.Inode, s.Changed = sys.Ino, sys.Ctim.Nano()
	}
	return s
}

// content is what is in a system's folder at one moment.
type content struct {
	packages map[string]stamp // by path below the folder
	// changed is when anything in it last changed, in Unix nanoseconds. Folders count too: without them, taking away the newest package
	// would set the clock back, and apt keeps what it has when a Release is older than that.
	changed int64
}

// look lists the packages in a system's folder. Links to files are followed as far as they stay among the files, links to folders are not.
func look(files *os.Root, folder string) (content, error) {
	found := content{packages: map[string]stamp{}}
	err := fs.WalkDir(files.FS(), folder, func(at string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // gone meanwhile, or not there yet
			return nil
		}
		if err != nil {
			return err
		}
		rest := strings.TrimPrefix(strings.TrimPrefix(at, folder), "/")
		if entry.IsDir() && rest != "" && isHidden(rest) {
			return fs.SkipDir
		}
		if !entry.IsDir() && !isPackage(rest) {
			return nil
		}
		return found.add(files, at, rest)
	})
	return found, err
}

func (c *content) add(files *os.Root, at, rest string) error {
	info, err := files.Stat(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil { // a link that leads out, say: read tells why when it opens it
		info, err = files.Lstat(at)
	}
	if err != nil {
		return err
	}
	s := stampOf(info)
	c.changed = max(c.changed, s.Changed)
	if !info.IsDir() {
		c.packages[rest] = s
	}
	return nil
}

// hasOwnIndex tells whether a system's folder is somebody else's repository.
func hasOwnIndex(files *os.Root, folder string) (bool, error) {
	for _, name := range ownIndex {
		_, err := files.Lstat(path.Join(folder, name))
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
	}
	return false, nil
}

// openRegular opens a file and nothing else, without waiting for who may be at a pipe's other end.
func openRegular(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = malformed("it is not a regular file")
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}
