package apt

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// Handler serves the generated files and passes all other paths to next. The paths of requests are
// relative to /files/.
func (s *Repositories) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.Trim(r.URL.Path, "/")
		system, rest, ok := split(name)
		if !ok || !isGenerated(rest) {
			next.ServeHTTP(w, r)
			return
		}
		repo, err := s.of(system)
		switch {
		case err == nil && repo == nil:
			next.ServeHTTP(w, r)
			return
		case err == nil:
			err = repo.serve(w, r, rest, next)
		}
		if err != nil {
			s.log.Error("cannot index packages", "path", name, "error", err)
			http.Error(w, fmt.Sprintf("cannot index the packages for %q: see the depot's log", name), http.StatusInternalServerError)
		}
	})
}

// serve answers a request for a generated file. It returns an error only if it has sent nothing.
func (r *repository) serve(w http.ResponseWriter, req *http.Request, rest string, next http.Handler) error {
	if sum, ok := strings.CutPrefix(rest, byHash); ok {
		return r.serveByHash(w, req, sum, next)
	}
	now, err := r.current()
	if err != nil {
		return err
	}
	// The answer has no Last-Modified, because that header has whole seconds only: apt would miss a
	// second change within one second.
	w.Header().Set("Cache-Control", "no-cache")
	switch rest {
	case releaseName, inReleaseName, signatureName:
		return r.serveRelease(w, req, rest, now)
	case damagedName:
		serveBytes(w, req, r.damaged())
	case indexName:
		return r.serveIndex(w, req, now.Index)
	case packedName:
		return r.serveIndex(w, req, now.Packed)
	}
	return nil
}

// serveRelease serves the Release of a generation, or one of its signatures.
func (r *repository) serveRelease(w http.ResponseWriter, req *http.Request, rest string, now generation) error {
	s, err := r.signed(now)
	if err != nil {
		return err
	}
	serveBytes(w, req, map[string][]byte{releaseName: s.release, inReleaseName: s.inRelease, signatureName: s.signature}[rest])
	return nil
}

// serveByHash serves an index that the current Release or an earlier one names.
func (r *repository) serveByHash(w http.ResponseWriter, req *http.Request, sum string, next http.Handler) error {
	file, ok := r.indexOf(sum)
	if !ok {
		next.ServeHTTP(w, req)
		return nil
	}
	return r.serveIndex(w, req, file)
}

func (r *repository) indexOf(sum string) (indexFile, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.history {
		for _, f := range []indexFile{g.Index, g.Packed} {
			if f.SHA256 == sum {
				return f, true
			}
		}
	}
	return indexFile{}, false
}

func (r *repository) serveIndex(w http.ResponseWriter, req *http.Request, index indexFile) error {
	f, err := r.root.Open(r.cached(index.SHA256))
	if err != nil {
		return err
	}
	defer f.Close()
	serveContent(w, req, index.SHA256, "application/octet-stream", f)
	return nil
}

func serveBytes(w http.ResponseWriter, req *http.Request, content []byte) {
	serveContent(w, req, sumOf(content), "text/plain; charset=utf-8", bytes.NewReader(content))
}

func serveContent(w http.ResponseWriter, req *http.Request, sum, kind string, content io.ReadSeeker) {
	h := w.Header()
	h.Set("ETag", `"`+sum+`"`)
	h.Set("Content-Type", kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set(protocol.ChecksumHeader, sum)
	http.ServeContent(w, req, "", time.Time{}, content)
}

// damaged returns the text of damaged.txt: each package that is left out of the index, with the
// reason.
func (r *repository) damaged() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, problems := r.entries()
	var b bytes.Buffer
	for _, at := range slices.Sorted(maps.Keys(problems)) {
		fmt.Fprintf(&b, "%q: %s\n", at, problems[at])
	}
	return b.Bytes()
}
