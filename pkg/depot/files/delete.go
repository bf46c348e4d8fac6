package files

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"

	"github.com/akraino-icn/bpa/pkg/depot/disk"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// fileRemover serves DELETE of plain files. Folders stay, also if they are empty then: another
// client may be about to store a file there.
type fileRemover struct{ *filePutter }

func (s fileRemover) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Path
	err := s.remove(name)
	var refused *putRefusal
	switch {
	case errors.As(err, &refused):
		http.Error(w, refused.text, refused.status)
	case err != nil && isAbsent(err):
		http.Error(w, fmt.Sprintf("not in the depot: %q", name), http.StatusNotFound)
	case err != nil:
		s.log.Error("file cannot be deleted", "path", name, "error", err)
		http.Error(w, fmt.Sprintf("cannot delete %q: see the depot's log", name), http.StatusInternalServerError)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

func (s fileRemover) remove(name string) error {
	if err := checkFileName(name); err != nil {
		if ref, ok := protocol.ParseFilePath(name); ok {
			return &putRefusal{http.StatusConflict, fmt.Sprintf("%s is the path of an artifact: delete it at %s", name, ref.Path())}
		}
		return err
	}
	if err := s.refuseLinks(name); err != nil {
		return err
	}
	place := path.Join(Dir, name)
	info, err := s.root.Lstat(place)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return &putRefusal{http.StatusConflict, fmt.Sprintf("%q is a folder: delete the files in it one by one", name)}
	}
	if err := s.quota.Place("", name, func() error { return s.root.Remove(place) }); err != nil {
		return err
	}
	// The removal survives a crash from here on. A checksum that stays behind does no harm: it
	// belongs to the stamp of the removed file.
	if err := disk.SyncDir(s.root, path.Dir(place)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s.packages.Removed(name)
	return disk.RemoveIfThere(s.root, sidecar(name))
}
