package disk

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
)

// WriteFile writes data to the file name, all or nothing, and creates missing folders. When it
// returns, the file survives a crash of this process or of the machine.
func WriteFile(root *os.Root, name string, data []byte, mode fs.FileMode) error {
	dir := path.Dir(name)
	if err := root.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	temp := path.Join(dir, ".tmp-"+rand.Text())
	if err := writeSync(root, temp, data, mode); err != nil {
		return errors.Join(err, RemoveIfThere(root, temp))
	}
	if err := root.Rename(temp, name); err != nil {
		return errors.Join(err, RemoveIfThere(root, temp))
	}
	return SyncDir(root, dir)
}

func writeSync(root *os.Root, name string, data []byte, mode fs.FileMode) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// SyncDir makes the entries of a directory durable.
func SyncDir(root *os.Root, dir string) error {
	f, err := root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// RemoveIfThere removes a file. An absent file is not an error.
func RemoveIfThere(root *os.Root, name string) error {
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
