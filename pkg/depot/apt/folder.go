package apt

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/akraino-icn/bpa/pkg/depot/disk"
)

// content is what is in a system's folder at one moment.
type content struct {
	packages map[string]disk.Stamp // by path below the folder
	// changed is when anything in it last changed, in Unix nanoseconds. Folders count too: without them, taking away the newest package
	// would set the clock back, and apt keeps what it has when a Release is older than that.
	changed int64
}

// listPackages lists the packages in a system's folder. Links to files are followed as far as they stay among the files, links to folders are not.
func listPackages(files *os.Root, folder string) (content, error) {
	w := walker{files, folder, content{packages: map[string]disk.Stamp{}}}
	info, err := files.Stat(folder)
	if err == nil && info.IsDir() {
		err = w.walk(files, folder, "")
	}
	return w.found, ifThere(err)
}

// ifThere passes over what is gone meanwhile, or not there yet; below a file there is nothing either.
func ifThere(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	return err
}

type walker struct {
	files  *os.Root
	folder string
	found  content
}

// walk looks at a folder in parent, which is at a path below the system's. Each folder is opened once: to find every file from the root
// takes three times as long.
func (w *walker) walk(parent *os.Root, name, at string) error {
	dir, err := parent.OpenRoot(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	info, err := dir.Stat(".")
	if err != nil {
		return err
	}
	w.found.changed = max(w.found.changed, disk.StampOf(info).Changed)
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := ifThere(w.visit(dir, entry, path.Join(at, entry.Name()))); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) visit(dir *os.Root, entry fs.DirEntry, rest string) error {
	if entry.IsDir() && isHidden(rest) || !entry.IsDir() && !isPackage(rest) {
		return nil
	}
	if entry.IsDir() {
		// One that may not be read is told as a package of which nothing is known: it hides no other.
		if err := w.walk(dir, entry.Name(), rest); !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	info, err := dir.Lstat(entry.Name())
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		if target, err := w.files.Stat(path.Join(w.folder, rest)); err == nil {
			info = target // else it stays the link's own state: who opens it is told what is wrong
		}
	}
	s := disk.StampOf(info)
	w.found.changed = max(w.found.changed, s.Changed)
	w.found.packages[rest] = s
	return nil
}

// hasOwnIndex tells whether a system's folder is somebody else's repository.
func hasOwnIndex(files *os.Root, folder string) (bool, error) {
	for _, name := range ownIndex {
		_, err := files.Lstat(path.Join(folder, name))
		if err == nil || ifThere(err) != nil {
			return err == nil, err
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
