package disk

import (
	"fmt"
	"io/fs"
	"syscall"
)

// Stamp identifies one version of the file at a path without reading the file. It uses the change
// time because programs can set the modification time, but not the change time.
type Stamp struct {
	Size    int64  `json:"size"` // in bytes
	Inode   uint64 `json:"inode"`
	Changed int64  `json:"changedUnixNano"`
}

// StampOf returns the stamp of a file.
func StampOf(info fs.FileInfo) Stamp {
	s := Stamp{Size: info.Size(), Changed: info.ModTime().UnixNano()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.Inode, s.Changed = sys.Ino, sys.Ctim.Nano()
	}
	return s
}

// ETag returns a strong ETag: it changes whenever the content may have changed.
func (s Stamp) ETag() string { return fmt.Sprintf(`"%x-%x-%x"`, s.Size, s.Inode, s.Changed) }
