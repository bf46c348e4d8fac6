package artifacts

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/akraino-icn/bpa/pkg/digest"
)

// File is a file that nodes download.
type File struct {
	// Path is the file's path below /files in the depot: the host and path of the upstream URL.
	Path string `json:"path"`
	// URL is the upstream URL; empty: https:// followed by Path.
	URL string `json:"url,omitempty"`
	// SHA256 is the expected checksum in hexadecimal. SHA512 is for upstreams that publish no
	// SHA-256. Without both, any content is accepted.
	SHA256 string `json:"sha256,omitempty"`
	SHA512 string `json:"sha512,omitempty"`
	// Size is in bytes; 0: unknown.
	Size int64 `json:"size,omitempty"`
}

// Upstream returns the URL from which the file is fetched.
func (f File) Upstream() string { return cmp.Or(f.URL, "https://"+f.Path) }

// identity describes the expected content by its checksum, or by its size if no checksum is known.
func (f File) identity() string {
	switch {
	case f.SHA256 != "":
		return "sha256 " + f.SHA256
	case f.SHA512 != "":
		return "sha512 " + f.SHA512
	case f.Size > 0:
		return fmt.Sprintf("%d bytes", f.Size)
	}
	return "any content"
}

const (
	maxPath = 1024
	maxPart = 255 - 20 // file systems allow 255 bytes, and a depot adds up to 20 of its own
)

var (
	sha512Pattern = regexp.MustCompile(`^[0-9a-f]{128}$`)
	// partPattern allows only characters that URLs, file systems and shells take unescaped, and no
	// hidden files.
	partPattern = regexp.MustCompile(`^[A-Za-z0-9_+~=@,][A-Za-z0-9._+~=@,:-]*$`)
)

func (f File) check() error {
	if err := CheckPath(f.Path); err != nil {
		return err
	}
	switch {
	case f.SHA256 != "" && !digest.IsSHA256(f.SHA256):
		return fmt.Errorf("file %s: sha256 %q is not 64 hexadecimal digits", f.Path, f.SHA256)
	case f.SHA512 != "" && !sha512Pattern.MatchString(f.SHA512):
		return fmt.Errorf("file %s: sha512 %q is not 128 hexadecimal digits", f.Path, f.SHA512)
	case f.Size < 0:
		return fmt.Errorf("file %s: size %d is negative", f.Path, f.Size)
	}
	if f.URL != "" {
		if u, err := url.Parse(f.URL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return fmt.Errorf("file %s: URL %q is not like https://host/path", f.Path, f.URL)
		}
	}
	return nil
}

// CheckPath returns an error if p is not a clean relative path below /files.
func CheckPath(p string) error {
	if len(p) > maxPath {
		return fmt.Errorf("file %.40q...: the path has %d bytes, more than %d", p, len(p), maxPath)
	}
	if p == "" || path.Clean(p) != p {
		return fmt.Errorf("file %q: the path is not like dl.k8s.io/release/v1.35.4/bin/linux/amd64/kubelet", p)
	}
	for _, part := range strings.Split(p, "/") {
		if !partPattern.MatchString(part) || len(part) > maxPart {
			return fmt.Errorf("file %q: a depot does not accept the name %q", p, part)
		}
	}
	return nil
}
