package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"
)

// Target is a place for files. The names of files are those of backups: they are valid as names of files, as keys of S3 and as
// tags of a registry.
type Target interface {
	// Check returns an error if the target does not answer, or refuses this machine.
	Check(ctx context.Context) error
	// Write stores what fill writes as a new file, whole or not at all.
	Write(ctx context.Context, name string, fill func(io.Writer) error) error
	// List returns the names of all files, in any order.
	List(ctx context.Context) ([]string, error)
	// Open opens a file. Its errors of reading are of type *fs.PathError, also those that a server causes.
	Open(ctx context.Context, name string) (io.ReadCloser, error)
	Remove(ctx context.Context, name string) error
	// Clean removes what killed processes have left of files whose names have the prefix. No other process may write such a
	// file.
	Clean(ctx context.Context, prefix string) error
	// Address returns the address of a file, which Split reads.
	Address(name string) string
}

// Access is what a server needs to be reached: paths of files, which may be empty.
type Access struct {
	Credentials string // S3: credentials in the format of AWS; registry: config.json of Docker
	CA          string // certificates in PEM that the server's certificate may be signed by, beside those of the system
}

// forms are the addresses that Parse accepts, for messages.
const forms = "name a folder by its absolute path, s3://BUCKET/PREFIX?endpoint=https://HOST&region=REGION, or oci://REGISTRY/REPOSITORY"

// IsFolder reports whether an address is that of a folder, and not of a server.
func IsFolder(address string) bool { return !strings.Contains(address, "://") }

// Validate returns an error if an address is not one of a target. It reads no file and asks no server.
func Validate(address string) error {
	if IsFolder(address) {
		if !filepath.IsAbs(address) {
			return fmt.Errorf("the folder for backups is %q: name it by its absolute path", address)
		}
		return nil
	}
	u, err := parse(address)
	if err != nil {
		return err
	}
	if u.Scheme == "s3" {
		_, err = parseBucket(u)
	} else {
		_, err = parseRepository(u)
	}
	return err
}

func parse(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil: // which may quote a password
		return nil, errors.New("the address for backups is not an address: " + forms)
	case u.User != nil:
		return nil, errors.New("the address for backups has credentials in it: write them to a file that only root can read, and name it with --credentials")
	case u.Scheme != "s3" && u.Scheme != "oci":
		return nil, fmt.Errorf("the address for backups is %q: %s", address, forms)
	}
	return u, nil
}

// New returns the target with an address. It asks no server.
func New(address string, access Access) (Target, error) {
	if err := Validate(address); err != nil {
		return nil, err
	}
	if IsFolder(address) {
		return folder(address), nil
	}
	u, err := parse(address)
	if err != nil {
		return nil, err
	}
	if u.Scheme == "s3" {
		return newBucket(u, access)
	}
	return newRegistry(u, access)
}

// Split returns the target and the name of a file from the address of the file.
func Split(address string) (target, name string, err error) {
	if IsFolder(address) {
		absolute, err := filepath.Abs(address)
		return filepath.Dir(absolute), filepath.Base(absolute), err
	}
	u, err := parse(address)
	if err != nil {
		return "", "", err
	}
	separator := "/"
	if u.Scheme == "oci" {
		separator = ":"
	}
	at := strings.LastIndex(u.Path, separator)
	if at < 0 || u.Path[at+1:] == "" {
		return "", "", fmt.Errorf("%s names no file: `machine backup list --to` prints the addresses", address)
	}
	u.Path, name = u.Path[:at], u.Path[at+1:]
	return u.String(), name, Validate(u.String())
}

// errSend ends the writer of a pipe whose reader has failed.
var errSend = errors.New("the target accepts no more")

// pipe connects fill, which writes, with send, which reads. If fill fails, so does the reader, with its error.
func pipe(fill func(io.Writer) error, send func(io.Reader) error) error {
	r, w := io.Pipe()
	filled := make(chan error, 1)
	go func() {
		err := fill(w)
		w.CloseWithError(err)
		filled <- err
	}()
	err := send(r)
	r.CloseWithError(errSend)
	if cause := <-filled; cause != nil && !errors.Is(cause, errSend) {
		return cause // which the error of send hides in its text
	}
	return err
}

// file is a file that a server sends.
type file struct {
	io.ReadCloser
	address string
}

func (f file) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = &fs.PathError{Op: "receive", Path: f.address, Err: err}
	}
	return n, err
}
