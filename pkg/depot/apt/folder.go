package apt

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/akraino-icn/bpa/pkg/depot/disk"
)

// content lists the packages in a system's folder at one moment.
type content struct {
	packages map[string]disk.Stamp // key: path below the folder
	// changed is the time of the last change in the folder, in Unix nanoseconds. It includes
	// changes of the folders themselves. Otherwise removing the newest package would set the time
	// back, and apt ignores a Release that is older than the Release it has.
	changed int64
}

// listPackages lists the packages in a system's folder. It follows a symbolic link to a file if the
// file is below the root files. It does not follow links to folders.
func listPackages(files *os.Root, folder string) (content, error) {
	w := walker{files, folder, content{packages: map[string]disk.Stamp{}}}
	info, err := files.Stat(folder)
	if err == nil && info.IsDir() {
		err = w.walk(files, folder, "")
	}
	return w.found, ifThere(err)
}

// ifThere returns nil if err means that a file does not exist, was removed meanwhile, or would be
// below something that is not a folder. It returns every other error unchanged.
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

// walk adds the packages of one folder and its subfolders. The parameter name is the folder's name
// in parent, and at is its path below the system's folder. Each folder is opened once, because
// opening every file by its path from the root takes three times as long.
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
		// If the depot may not read a folder, the folder is listed as a package that cannot be
		// read. An error would hide the other packages.
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
			info = target // else keep the link's own state: reading the package gives the error
		}
	}
	s := disk.StampOf(info)
	w.found.changed = max(w.found.changed, s.Changed)
	w.found.packages[rest] = s
	return nil
}

// hasOwnIndex reports whether a system's folder has an index that the depot did not generate.
func hasOwnIndex(files *os.Root, folder string) (bool, error) {
	for _, name := range ownIndex {
		_, err := files.Lstat(path.Join(folder, name))
		if err == nil || ifThere(err) != nil {
			return err == nil, err
		}
	}
	return false, nil
}

// openRegular opens a regular file and refuses anything else. It does not block on a pipe.
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
