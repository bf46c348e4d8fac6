package auth

import (
	"net/http"
	"strings"
)

// authorize asks for a right. Who may not update may still put a tag or a file where there is none, with the right to create: that takes nothing
// from anyone. The access that comes back is the one that the answer is for.
//
// The name may be taken before the request's last byte has come, so the request goes on as one that replaces nothing (RFC 9110, 13.1.2). Of a
// tag that is not locked: of two who have sent all of the same new one at the same moment, the later one wins.
func (g *Handler) authorize(r *http.Request, user User, access Access) (Access, bool, error) {
	allowed, err := g.authorizer.Authorize(r.Context(), user, access)
	if err != nil || allowed || !isWhole(r, access) || !g.isFree(r) {
		return access, allowed, err
	}
	access.Verb = Create
	r.Header.Set("If-None-Match", "*")
	allowed, err = g.authorizer.Authorize(r.Context(), user, access)
	return access, allowed, err
}

// isWhole: the request puts the very thing that its path names, and that the right is about.
func isWhole(r *http.Request, access Access) bool {
	return r.Method == http.MethodPut && access.Verb == Update &&
		(access.Resource == Images && strings.HasPrefix(r.URL.Path, pingPath) || access.Resource == Files)
}

// anyManifest are the kinds that a registry would otherwise not tell of.
var anyManifest = []string{
	"application/vnd.oci.image.manifest.v1+json", "application/vnd.oci.image.index.v1+json",
	"application/vnd.docker.distribution.manifest.v2+json", "application/vnd.docker.distribution.manifest.list.v2+json", "*/*",
}

// isFree asks behind the door whether there is nothing of that name. What is not known for sure is not free.
func (g *Handler) isFree(r *http.Request) bool {
	head := r.Clone(r.Context())
	head.Method, head.Body, head.ContentLength, head.TransferEncoding = http.MethodHead, http.NoBody, 0, nil
	head.Header = http.Header{"Accept": anyManifest}
	seen := &statusOnly{header: http.Header{}}
	g.next.ServeHTTP(seen, head)
	return seen.code == http.StatusNotFound
}

// statusOnly keeps the status of an answer.
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
