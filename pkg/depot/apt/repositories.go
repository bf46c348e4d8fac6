package apt

import (
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// cacheDir is the folder below the depot's root that keeps the indexes. Users may remove it: the
// depot generates its content again.
const cacheDir = "apt-indexes"

// Repositories are the folders apt/SYSTEM of a depot. Make them with New.
type Repositories struct {
	root, files    *os.Root
	key            *Key
	sum            func(name string) (string, error)
	mayStillChange time.Duration
	log            *slog.Logger
	changed        func()

	// reading is held while a package is read, so that the depot reads one package at a time.
	// Reading a package takes up to maxUnpacked bytes of memory.
	reading sync.Mutex

	mu   sync.Mutex
	open map[string]*repository
}

// New returns the repositories of a depot whose plain files are below files. They keep their
// indexes below root, and key signs them. sum returns the SHA-256, in hexadecimal, of a plain file.
func New(root, files *os.Root, key *Key, sum func(name string) (string, error), log *slog.Logger) *Repositories {
	return &Repositories{root: root, files: files, key: key, sum: sum, mayStillChange: mayStillChange, log: log, changed: func() {}, open: map[string]*repository{}}
}

// of returns the repository of a system. It returns nil for a system without a folder, and for a
// folder that has its own index, which is served unchanged.
func (s *Repositories) of(system string) (*repository, error) {
	folder := protocol.PackageFolder(system)
	if info, err := s.files.Stat(folder); err != nil || !info.IsDir() || !protocol.IsSystem(system) {
		return nil, nil
	}
	if own, err := hasOwnIndex(s.files, folder); own || err != nil {
		return nil, err
	}
	return s.opened(system), nil
}

// opened returns the repository of a system, whether its folder exists yet or not. There is one
// repository per system. It is never closed: it holds in memory only the data of its index.
func (s *Repositories) opened(system string) *repository {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.open[system]; ok {
		return r
	}
	r := &repository{
		system: system, files: s.files, root: s.root, key: s.key, sum: s.sum, control: s.control, mayStillChange: s.mayStillChange, log: s.log,
		records: map[string]record{}, logged: map[string]string{},
	}
	r.load()
	s.open[system] = r
	return r
}

func (s *Repositories) control(file io.ReaderAt, size int64) (Control, error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	return ReadControl(file, size)
}
