package files

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/akraino-icn/bpa/pkg/depot/apt"
	"github.com/akraino-icn/bpa/pkg/depot/disk"
	"github.com/akraino-icn/bpa/pkg/depot/limits"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// filePutter serves PUT of plain files. It first compares the content with the checksum in the
// request's headers. Then it stores the file, completely or not at all, and replaces an existing
// one.
type filePutter struct {
	root     *os.Root
	digests  *digests
	packages *apt.Repositories
	quota    *limits.Quota
	// diskQuota limits the disk space for plain files; nil if quota limits it.
	diskQuota *limits.Quota
	log       *slog.Logger
}

// putRefusal is the error for a request that the depot refuses, with the HTTP status of the answer.
type putRefusal struct {
	status int
	text   string
}

func (r *putRefusal) Error() string { return r.text }

func (s *filePutter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Path
	sum, err := s.put(r, name)
	var refused *putRefusal
	var full *limits.Refusal
	var packaged *apt.Refusal
	switch {
	case errors.As(err, &refused):
		http.Error(w, refused.text, refused.status)
	case errors.As(err, &full):
		if full.Status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "10")
		}
		http.Error(w, full.Text, full.Status)
	case errors.As(err, &packaged):
		http.Error(w, packaged.Text, packaged.Status)
	case err != nil:
		s.log.Error("file cannot be stored", "path", name, "error", err)
		http.Error(w, fmt.Sprintf("cannot store %q: see the depot's log", name), http.StatusInternalServerError)
	default:
		w.Header().Set(protocol.ChecksumHeader, sum)
		w.WriteHeader(http.StatusCreated)
	}
}

func (s *filePutter) put(r *http.Request, name string) (string, error) {
	if err := checkFileName(name); err != nil {
		return "", err
	}
	if err := s.packages.Check(name); err != nil {
		return "", err
	}
	want, err := protocol.AnnouncedChecksum(r.Header)
	if err != nil {
		return "", &putRefusal{http.StatusBadRequest, err.Error()}
	}
	if r.ContentLength < 0 {
		return "", &putRefusal{http.StatusLengthRequired, "the depot reserves space before it reads the body: send a Content-Length"}
	}
	temp := path.Join(incomingDir, rand.Text())
	release, err := s.reserve(temp, r.ContentLength)
	if err != nil {
		return "", err
	}
	defer release()
	sum, err := s.receive(r, temp)
	if err == nil && want != "" && sum != want {
		err = &putRefusal{http.StatusUnprocessableEntity, fmt.Sprintf("the content has sha256 %s, not %s as announced: nothing was stored, send the file again", sum, want)}
	}
	if err == nil {
		err = s.publish(temp, name, sum, protocol.IsCreateOnly(r.Header))
	}
	if errors.Is(err, errNowThere) && s.holds(name, sum) {
		return sum, disk.RemoveIfThere(s.root, temp)
	}
	if err != nil {
		return "", errors.Join(err, disk.RemoveIfThere(s.root, temp))
	}
	return sum, nil
}

// reserve reserves size bytes for a file until release is called.
func (s *filePutter) reserve(temp string, size int64) (release func(), err error) {
	if err := s.quota.Reserve(temp, size); err != nil || s.diskQuota == nil {
		return func() { s.quota.Release(temp) }, err
	}
	if err := s.diskQuota.Hold(temp, size); err != nil {
		s.quota.Release(temp)
		return nil, err
	}
	return func() { s.diskQuota.Release(temp); s.quota.Release(temp) }, nil
}

func (s *filePutter) written(temp string, n int64) {
	s.quota.Written(temp, n)
	if s.diskQuota != nil {
		s.diskQuota.Written(temp, n)
	}
}

// checkFileName refuses a path that no file can have, and the path of an artifact, which must be
// uploaded at /v1.
func checkFileName(name string) error {
	bad := name == "" || len(name) > 1024 || path.Clean("/"+name) != "/"+name || strings.ContainsAny(name, "\\\x00")
	if bad {
		return &putRefusal{http.StatusBadRequest, fmt.Sprintf("path %q: want the names of folders and a file, with single slashes between them", name)}
	}
	if ref, ok := protocol.ParseFilePath(name); ok {
		return &putRefusal{http.StatusConflict, fmt.Sprintf("%s is the path of an artifact: upload it to %s/content", name, ref.Path())}
	}
	return nil
}

// counted is an io.Writer that passes the size of each write to a function.
type counted func(int)

func (c counted) Write(p []byte) (int, error) {
	c(len(p))
	return len(p), nil
}

// receive writes the request's body to the file temp, durably, and returns its SHA-256. Clients
// cannot see that file.
func (s *filePutter) receive(r *http.Request, temp string) (string, error) {
	f, err := s.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, h, counted(func(n int) { s.written(temp, int64(n)) })), r.Body)
	if err == nil && n < r.ContentLength || errors.Is(err, io.ErrUnexpectedEOF) {
		err = &putRefusal{http.StatusBadRequest, fmt.Sprintf("only %d of %d bytes arrived: nothing was stored, send the file again", n, r.ContentLength)}
	}
	if err == nil {
		err = f.Sync()
	}
	return hex.EncodeToString(h.Sum(nil)), errors.Join(err, f.Close())
}

// publish gives a complete file its name, after package apt has checked its content. If createOnly
// is set, it does not replace a file with other content.
func (s *filePutter) publish(temp, name, sum string, createOnly bool) error {
	f, err := s.root.Open(temp)
	if err != nil {
		return err
	}
	defer f.Close()
	return s.packages.Store(name, f, sum, func() (fs.FileInfo, error) {
		if err := s.place(temp, name, sum, createOnly); err != nil {
			return nil, err
		}
		// f is the file of this request, even if another request has replaced it already.
		info, err := f.Stat()
		if err == nil {
			s.digests.keep(name, kept{Stamp: disk.StampOf(info), SHA256: sum})
		}
		return info, err
	})
}

var errNowThere = &putRefusal{http.StatusPreconditionFailed, protocol.Exists}

// holds reports whether a file with this SHA-256 is stored under the name.
func (s *filePutter) holds(name, sum string) bool {
	held, err := s.digests.Of(name)
	return err == nil && held == sum
}

// place moves the file temp to its name. After it has returned without an error, the move survives
// a crash.
func (s *filePutter) place(temp, name, sum string, createOnly bool) error {
	place := path.Join(Dir, name)
	if err := s.refuseLinks(name); err != nil {
		return err
	}
	if err := s.root.MkdirAll(path.Dir(place), 0o755); err != nil {
		return blocked(name, err)
	}
	move := func() error { // the quota runs one move at a time, so no other upload can interfere
		// A create-only request may replace a file with the same checksum: if the disk has damaged
		// that file, the new bytes repair it.
		if _, err := s.root.Lstat(place); err == nil && createOnly && !s.digests.hasSum(name, sum) {
			return errNowThere
		}
		return s.root.Rename(temp, place)
	}
	if err := s.quota.Place(temp, name, move); err != nil {
		return blocked(name, err)
	}
	for dir := path.Dir(place); ; dir = path.Dir(dir) {
		if err := disk.SyncDir(s.root, dir); err != nil {
			return err
		}
		if dir == "." {
			return nil
		}
	}
}

// refuseLinks refuses a file below a link. An administrator may link folders for reading, but the right to write a
// file depends on its name: a link could lead from there to the packages of the nodes, or out of files/.
func (s *filePutter) refuseLinks(name string) error {
	for i, c := range name {
		if c != '/' {
			continue
		}
		folder := name[:i]
		info, err := s.root.Lstat(path.Join(Dir, folder))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return blocked(name, err)
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return &putRefusal{http.StatusConflict, fmt.Sprintf("%q cannot be stored: %q is a link, and the depot writes through no links: use the folder's own name", name, folder)}
		}
	}
	return nil
}

// blocked turns an error about the path of a file into a refusal that explains it.
func blocked(name string, err error) error {
	for _, in := range []error{syscall.ENOTDIR, syscall.EISDIR, fs.ErrExist, syscall.ENOTEMPTY} {
		if errors.Is(err, in) {
			return &putRefusal{http.StatusConflict, fmt.Sprintf("%q cannot be stored: a file is where a folder has to be, or the reverse", name)}
		}
	}
	if isAbsent(err) {
		return &putRefusal{http.StatusBadRequest, fmt.Sprintf("%q cannot be a file's path", name)}
	}
	return err
}
