package registry

import (
	"net/http"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// yearInSeconds is how long a client may cache a blob, whose content never changes.
const yearInSeconds = "31536000"

// blobSender answers GET of blobs that are stored on disk. Its answers equal those of the registry
// library, but the kernel sends the file. The library reads the file through its storage driver and
// copies every byte twice. All other requests go to registry, which also answers for absent blobs.
func blobSender(s *store.Store, registry http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || s.Dir() == "" || !sendBlob(w, r, s) {
			registry.ServeHTTP(w, r)
		}
	})
}

// sendBlob sends a blob and reports whether it has answered the request.
func sendBlob(w http.ResponseWriter, r *http.Request, s *store.Store) bool {
	name, asked, ok := parseBlob(r.URL.Path)
	if !ok {
		return false
	}
	desc, err := s.Linked(r.Context(), name, asked)
	if err != nil {
		return false
	}
	f, err := s.Open(r.Context(), name, desc.Digest)
	if err != nil {
		return false
	}
	defer f.Close()
	h := w.Header()
	h.Set("Docker-Distribution-Api-Version", "registry/2.0")
	h.Set("Docker-Content-Digest", asked.String())
	h.Set("ETag", `"`+asked.String()+`"`)
	h.Set("Cache-Control", "max-age="+yearInSeconds)
	h.Set("Content-Type", desc.MediaType)
	http.ServeContent(w, r, "", time.Time{}, f)
	return true
}

// parseBlob splits /v2/{name}/blobs/{digest}; ok is false for another path or an invalid digest.
func parseBlob(path string) (name string, d digest.Digest, ok bool) {
	rest, ok := strings.CutPrefix(path, "/v2/")
	at := strings.LastIndex(rest, "/blobs/")
	if !ok || at < 0 {
		return "", "", false
	}
	d = digest.Digest(rest[at+len("/blobs/"):])
	return rest[:at], d, d.Validate() == nil
}
