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

// Check refuses a path to which nothing may be uploaded, before its bytes come.
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
	return refuse(http.StatusConflict, "%q: the depot makes the index of %s/%s itself, from the packages in it: upload those alone, and get %s. "+
		"A mirror with an index of its own is taken as it is if its dists/ comes before", name, protocol.AptFolder, system, releaseName)
}

// checkMirror refuses to begin a mirror where nodes have an index already: it would be gone with the mirror's first file.
func (s *Repositories) checkMirror(name, system string) error {
	repo, err := s.of(system)
	if repo == nil || err != nil {
		return err
	}
	now, err := repo.current()
	if err != nil || now.Index.Size == 0 {
		return err
	}
	return refuse(http.StatusConflict, "%q: an index of the packages in %s/%s is served already, and would be gone with a mirror's: "+
		"upload the mirror to another SYSTEM, and its %s/ first; or take those packages from the depot's folder files/", name, protocol.AptFolder, system, mirrorName)
}

// Store puts a file of the given SHA-256, whose bytes are in temp, in its place by calling publish; that returns the file's state in its
// place. It refuses what ends in .deb and is no package, and one that a repository has with other bytes.
func (s *Repositories) Store(name string, temp *os.File, sum string, publish func() (fs.FileInfo, error)) error {
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

// store holds on to the repository, so that of two who upload the same package with other bytes one is refused.
func (r *repository) store(rest string, rec record, publish func() (fs.FileInfo, error)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := r.update(); err != nil {
		return err
	}
	entries, _ := r.entries()
	for _, known := range entries {
		if known.Control.String() == rec.Control.String() && known.SHA256 != rec.SHA256 {
			return refuse(http.StatusConflict, "%s is here already with other bytes, as %q: give what has changed another version, or remove that file from the depot's folder files/ first",
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
