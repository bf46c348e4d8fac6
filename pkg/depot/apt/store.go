package apt

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strings"

	"github.com/akraino-icn/bpa/pkg/depot/disk"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// Check returns a Refusal for a path to which no file may be uploaded. It is called before the
// upload's content is read.
func (s *Repositories) Check(name string) error {
	system, rest, ok := split(name)
	if ok && (rest == mirrorName || strings.HasPrefix(rest, mirrorName+"/")) {
		return s.checkMirror(name, system)
	}
	if !ok || !isReserved(rest) {
		return checkPlace(name)
	}
	own, err := hasOwnIndex(s.files, path.Join(protocol.AptFolder, system))
	if own || err != nil {
		return err
	}
	return refuse(http.StatusConflict, "%q: the depot makes the index of %s/%s itself, from the packages there. Upload only the packages; clients find the new index in %s. "+
		"To serve a mirror with its own index unchanged, upload its dists/ first", name, protocol.AptFolder, system, releaseName)
}

// checkMirror refuses the first file of a mirror in a folder that already has a generated index
// with packages. Nodes may use that index, and the depot would no longer serve it.
func (s *Repositories) checkMirror(name, system string) error {
	repo, err := s.of(system)
	if repo == nil || err != nil {
		return err
	}
	now, err := repo.current()
	if err != nil || now.Index.Size == 0 {
		return err
	}
	return refuse(http.StatusConflict, "%q: an index of the packages in %s/%s is served already, and this mirror would replace it: "+
		"upload the mirror to another SYSTEM, with its %s/ first; or remove those packages from the depot's folder files/", name, protocol.AptFolder, system, mirrorName)
}

// Store publishes an uploaded file by calling publish, which moves the file to its path and returns
// its state there. The content is in temp, and sum is its SHA-256. Store returns a Refusal for a
// .deb file that is not a package, and for a package that the repository has with other content.
func (s *Repositories) Store(name string, temp *os.File, sum string, publish func() (fs.FileInfo, error)) error {
	err := s.store(name, temp, sum, publish)
	if err == nil && strings.HasPrefix(name, protocol.AptFolder+"/") {
		s.changed()
	}
	return err
}

// Removed is called after a plain file was removed. The next request for an index makes it again.
func (s *Repositories) Removed(name string) {
	if strings.HasPrefix(name, protocol.AptFolder+"/") {
		s.changed()
	}
}

func (s *Repositories) store(name string, temp *os.File, sum string, publish func() (fs.FileInfo, error)) error {
	system, rest, ok := split(name)
	if !ok || !isPackage(rest) {
		_, err := publish()
		return err
	}
	own, err := hasOwnIndex(s.files, path.Join(protocol.AptFolder, system))
	if err != nil {
		return err
	}
	if own {
		_, err := publish()
		return err
	}
	info, err := temp.Stat()
	if err != nil {
		return err
	}
	control, err := s.control(temp, info.Size())
	if errors.Is(err, ErrFormat) {
		return refuse(http.StatusUnprocessableEntity, "%q: %v: nothing of it was kept", name, err)
	}
	if err != nil {
		return err
	}
	return s.opened(system).store(rest, record{SHA256: sum, Control: control}, publish)
}

// store holds the repository's lock throughout. If two clients upload the same package with
// different content at the same time, one of them is refused.
func (r *repository) store(rest string, rec record, publish func() (fs.FileInfo, error)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := r.update(); err != nil {
		return err
	}
	entries, _ := r.entries()
	for _, known := range entries {
		if known.Control.String() == rec.Control.String() && known.SHA256 != rec.SHA256 {
			return refuse(http.StatusConflict, "%s is here already with other bytes, as %q: give the changed package another version, or remove that file from the depot's folder files/ first",
				rec.Control, path.Join(r.folder(), known.path))
		}
	}
	info, err := publish()
	if err != nil {
		return err
	}
	rec.Stamp = disk.StampOf(info)
	r.records[rest] = rec
	r.stale = true
	return nil
}
