package auth

import (
	"net/http"
	"strings"
)

// authorize reports whether the user has the right that access describes. A user who may create but
// not update may still PUT a tag or a file that does not exist yet, because that replaces nothing.
// For such a request, authorize also checks the right to create. It returns the right that it has
// checked last.
//
// Another client may create the same tag or file before the body of this request is complete. So
// the request is forwarded with If-None-Match: * (RFC 9110, 13.1.2). Tags are not locked: if two
// such requests for one new tag complete at the same moment, the later one replaces the earlier
// one.
func (h *Handler) authorize(r *http.Request, user User, access Access) (Access, bool, error) {
	allowed, err := h.authorizer.Authorize(r.Context(), user, access)
	if err != nil || allowed || !isWhole(r, access) || !h.isFree(r) {
		return access, allowed, err
	}
	access.Verb = Create
	r.Header.Set("If-None-Match", "*")
	allowed, err = h.authorizer.Authorize(r.Context(), user, access)
	return access, allowed, err
}

// isWhole reports whether the request is a PUT of the tag or plain file that access is about. Only
// for such a request, the right to create may be enough. isWhole returns false for every request at
// /v1, and for OS packages.
func isWhole(r *http.Request, access Access) bool {
	return r.Method == http.MethodPut && access.Verb == Update &&
		(access.Resource == Images && strings.HasPrefix(r.URL.Path, pingPath) || access.Resource == Files && !isPackage(access.Name))
}

// anyManifest lists the media types for the header Accept. Without them, a registry answers 404 for
// some manifests.
var anyManifest = []string{
	"application/vnd.oci.image.manifest.v1+json", "application/vnd.oci.image.index.v1+json",
	"application/vnd.docker.distribution.manifest.v2+json", "application/vnd.docker.distribution.manifest.list.v2+json", "*/*",
}

// isFree reports whether nothing exists at the path of the request. It sends a HEAD request to the
// next handler. Only the answer 404 means that the path is free.
func (h *Handler) isFree(r *http.Request) bool {
	head := r.Clone(r.Context())
	head.Method, head.Body, head.ContentLength, head.TransferEncoding = http.MethodHead, http.NoBody, 0, nil
	head.Header = http.Header{"Accept": anyManifest}
	seen := &statusOnly{header: http.Header{}}
	h.next.ServeHTTP(seen, head)
	return seen.code == http.StatusNotFound
}

// statusOnly is a ResponseWriter that keeps only the status of an answer.
type statusOnly struct {
	header http.Header
	code   int
}

func (s *statusOnly) Header() http.Header { return s.header }

func (s *statusOnly) WriteHeader(code int) {
	if s.code == 0 {
		s.code = code
	}
}

func (s *statusOnly) Write(p []byte) (int, error) {
	s.WriteHeader(http.StatusOK)
	return len(p), nil
}
