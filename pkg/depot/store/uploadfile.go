package store

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Files in the folder of an upload.
const (
	startedFile = "startedat" // the first file that the registry library writes
	dataFile    = "data"      // the bytes
)

// isUploadFile reports whether a driver's path is that of a file with this name in the folder of an
// upload.
func isUploadFile(at, name string) bool {
	return path.Base(at) == name && path.Base(path.Dir(path.Dir(at))) == "_uploads" && strings.HasPrefix(at, RepositoriesPath+"/")
}

// begin writes the first file of an upload. The file survives the end of the process. See syncUpload
// for the end of the machine.
func (d *durable) begin(at string, content []byte) error {
	full := d.full(at)
	folder := filepath.Dir(full)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	d.mu.Lock()
	d.fresh[folder] = struct{}{}
	d.mu.Unlock()
	if err := os.WriteFile(full+".tmp", content, 0o666); err != nil {
		return err
	}
	return os.Rename(full+".tmp", full)
}

// syncUpload returns when the upload to which a driver's path belongs survives a power failure. The
// bytes of the upload must be synced already.
func (d *durable) syncUpload(at string) error {
	folder := filepath.Dir(d.full(at))
	started := filepath.Join(folder, startedFile)
	if d.isSynced(started) {
		return nil
	}
	for _, path := range []string{started, folder} {
		if err := syncFile(path); err != nil {
			return err
		}
	}
	if err := d.syncAbove(at); err != nil {
		return err
	}
	d.remember([]string{started})
	return nil
}

// uploadFile writes the bytes of an upload.
type uploadFile struct {
	file      *os.File
	buffer    *bufio.Writer
	size      int64
	committed bool
	// synced syncs the folder of the upload.
	synced func() error
}

func openUpload(full string, appends bool, synced func() error) (*uploadFile, error) {
	if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
		return nil, err
	}
	flags := os.O_WRONLY | os.O_CREATE
	if !appends {
		flags |= os.O_TRUNC
	}
	f, err := os.OpenFile(full, flags, 0o666)
	if err != nil {
		return nil, err
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &uploadFile{file: f, buffer: bufio.NewWriter(f), size: size, synced: synced}, nil
}

func (u *uploadFile) Size() int64 { return u.size }

func (u *uploadFile) Write(p []byte) (int, error) {
	n, err := u.buffer.Write(p)
	u.size += int64(n)
	return n, err
}

// Commit syncs the bytes. They are about to leave the folder, so the folder is not synced.
func (u *uploadFile) Commit(context.Context) error {
	if err := u.flush(); err != nil {
		return err
	}
	u.committed = true
	return nil
}

// Close syncs the bytes and the folder, because a client may continue the upload after them. An
// upload without bytes has nothing that a power failure could destroy.
func (u *uploadFile) Close() error {
	if u.committed || u.size == 0 {
		return u.file.Close()
	}
	if err := errors.Join(u.flush(), u.file.Close()); err != nil {
		return err
	}
	return u.synced()
}

func (u *uploadFile) flush() error {
	if err := u.buffer.Flush(); err != nil {
		return err
	}
	return u.file.Sync()
}

// Cancel removes the bytes.
func (u *uploadFile) Cancel(context.Context) error {
	if err := u.file.Close(); err != nil {
		return err
	}
	return os.Remove(u.file.Name())
}
