package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/akraino-icn/bpa/pkg/depot/apt"
	"github.com/akraino-icn/bpa/pkg/depot/disk"
	"github.com/akraino-icn/bpa/pkg/depot/limits"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/depot/uploads"
)

// Folders below the depot's root.
const (
	// Dir holds the plain files. Users may also copy files there directly: they appear under
	// /files/ with the same path.
	Dir = "files"
	// digestsDir holds the checksums of plain files.
	digestsDir = "digests"
	// incomingDir holds uploads of plain files until they are complete.
	incomingDir = "incoming"
)

// Open creates missing folders, removes the incomplete uploads of a killed process, and opens Dir.
func Open(root *os.Root) (*os.Root, error) {
	if err := root.RemoveAll(incomingDir); err != nil {
		return nil, err
	}
	for _, dir := range []string{Dir, digestsDir, incomingDir} {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	return root.OpenRoot(Dir)
}

// Handlers returns the handlers for GET, PUT and DELETE below /files/, and the apt sources below it. The
// caller removes that prefix from the request's path. get sends plain files, artifacts and the apt
// source, put stores plain files, and remove deletes them. files is the folder that Open returned.
// diskQuota limits the disk space for plain files; if it is nil, quota does. key signs the indexes of the
// apt sources.
func Handlers(root, files *os.Root, key *apt.Key, uploaded *uploads.Service, quota, diskQuota *limits.Quota, log *slog.Logger) (get, put, remove http.Handler, sources *apt.Repositories) {
	sums := &digests{files: files, cache: root, racy: defaultRacy, log: log}
	sources = apt.New(root, files, key, sums.Of, log)
	get = sources.Handler(&artifactFiles{uploaded, log, &fileServer{root: files, digests: sums, log: log}})
	putter := &filePutter{root: root, digests: sums, packages: sources, quota: quota, diskQuota: diskQuota, log: log}
	return get, putter, fileRemover{putter}, sources
}

// sumSuffix at the end of a path asks for the checksum of the file without the suffix. If a file
// with the whole name exists, the path means that file.
const sumSuffix = ".sha256"

// fileServer serves GET of plain files. The URL path, without its prefix, is the path below root;
// os.Root keeps symbolic links from leading out of it.
type fileServer struct {
	root    *os.Root
	digests *digests
	log     *slog.Logger
}

func (s *fileServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.Trim(r.URL.Path, "/")
	if name == "" {
		name = "."
	}
	err := s.serve(w, r, name)
	for _, suffix := range []string{sumSuffix, sha256sumSuffix} {
		if target, isSum := strings.CutSuffix(name, suffix); isSum && target != "" && errors.Is(err, fs.ErrNotExist) {
			err = s.serveSum(w, target)
		}
	}
	if err != nil {
		s.fail(w, name, err)
	}
}

// serve sends a file or lists a directory. It returns an error only if it has sent nothing.
func (s *fileServer) serve(w http.ResponseWriter, r *http.Request, name string) error {
	f, info, err := openFile(s.root, name)
	if err != nil {
		return err
	}
	defer f.Close()
	if info.IsDir() {
		return list(w, f)
	}
	h := w.Header()
	h.Set("ETag", disk.StampOf(info).ETag())
	// A browser must never run stored content.
	h.Set("Content-Type", "application/octet-stream")
	h.Set("X-Content-Type-Options", "nosniff")
	if r.Header.Get(protocol.WantChecksumHeader) != "" {
		sum, err := s.digests.Of(name)
		if err != nil {
			return err
		}
		h.Set(protocol.ChecksumHeader, sum)
	}
	http.ServeContent(w, r, "", info.ModTime(), f)
	return nil
}

// serveSum sends a checksum in the format of sha256sum, which Ironic, Ansible and "sha256sum -c"
// read.
func (s *fileServer) serveSum(w http.ResponseWriter, name string) error {
	sum, err := s.digests.Of(name)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, sumLine(sum, path.Base(name)))
	return nil
}

func sumLine(sum, name string) string { return fmt.Sprintf("%s  %s\n", sum, name) }

// fail answers for a path that cannot be served. It answers 404, without a log entry, to a path
// that is absent, impossible or leads out of the folder.
func (s *fileServer) fail(w http.ResponseWriter, name string, err error) {
	if isAbsent(err) {
		http.Error(w, fmt.Sprintf("not in the depot: %q", name), http.StatusNotFound)
		return
	}
	s.log.Error("file cannot be served", "path", name, "error", err)
	http.Error(w, fmt.Sprintf("cannot read %q: see the depot's log", name), http.StatusInternalServerError)
}

func isAbsent(err error) bool {
	for _, absent := range []error{
		fs.ErrNotExist, errNotRegular, syscall.ENOTDIR, syscall.EINVAL, syscall.ENAMETOOLONG, syscall.ELOOP, syscall.ENXIO,
	} {
		if errors.Is(err, absent) {
			return true
		}
	}
	// This is the error of os.Root for a path that leaves the root. Package os exports no value for
	// it.
	return strings.Contains(err.Error(), "path escapes from parent")
}

var errNotRegular = errors.New("neither a file nor a directory")

// openFile opens a file or directory for reading. It refuses pipes, sockets and devices with
// errNotRegular; it opens them without blocking, so that they cannot hang the depot.
func openFile(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = errNotRegular
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// list writes one name per line; names of directories end with a slash.
func list(w http.ResponseWriter, dir *os.File) error {
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return err
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() {
			name += "/"
		}
		names = append(names, name+"\n")
	}
	slices.Sort(names)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, strings.Join(names, ""))
	return nil
}
