package apt

import (
	"io/fs"
	"net/url"
	"path"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// OnChange sets the function that is called after each upload that may have changed a source. Call it
// before requests are served.
func (s *Repositories) OnChange(changed func()) { s.changed = changed }

// Packages returns all packages of all sources whose index the depot makes. Mirrors have their own
// indexes, and their packages are not in the list. A source that cannot be read is logged and damaged: the other
// clusters of the site must not wait for it.
func (s *Repositories) Packages() (all []protocol.Package, damaged []protocol.DamagedPackage, err error) {
	systems, err := fs.ReadDir(s.files.FS(), protocol.AptFolder)
	if err != nil {
		return nil, nil, ifThere(err)
	}
	for _, system := range systems {
		repo, err := s.of(system.Name())
		if err == nil && repo != nil {
			all, err = repo.list(all)
		}
		if err != nil {
			name := path.Join(protocol.AptFolder, system.Name())
			s.log.Warn("an apt source cannot be read: its packages are not in the list", "folder", name, "error", err)
			damaged = append(damaged, protocol.DamagedPackage{Name: name, Reason: "the depot cannot read this apt source: see the depot's log"})
		}
	}
	return all, damaged, nil
}

// list adds the packages of the current index to all.
func (r *repository) list(all []protocol.Package) ([]protocol.Package, error) {
	if _, err := r.current(); err != nil {
		return all, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	entries, _ := r.entries()
	for _, e := range entries {
		at := url.URL{Path: path.Join("/files", r.folder(), e.path)}
		all = append(all, protocol.Package{
			Name: e.Control.Package, Version: e.Control.Version, Architecture: e.Control.Architecture, Format: protocol.FormatDeb,
			System: r.system, Path: at.EscapedPath(), SHA256: e.SHA256, Size: e.Stamp.Size,
		})
	}
	return all, nil
}
