package registry

import (
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/distribution/reference"
	"github.com/opencontainers/go-digest"

	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// isOther reports whether d is a valid digest of an algorithm other than sha256. The store keeps
// all content under sha256 digests.
func isOther(d digest.Digest) bool {
	return d.Validate() == nil && slices.Contains(store.OtherAlgorithms, d.Algorithm())
}

// digestAliases lets clients name blobs by sha384 or sha512 digests. The registry library accepts
// such blobs, but it cannot mount them (take them from another repository) by these digests. Also,
// its answers name the sha256 digest. Clients treat a digest other than their own as damage.
type digestAliases struct {
	store *store.Store
	log   *slog.Logger
	next  http.Handler
}

func (n *digestAliases) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if name, d, ok := parseBlob(r.URL.Path); ok && isOther(d) && name != "" {
		n.next.ServeHTTP(&aliasWriter{ResponseWriter: w, asked: d}, r)
		return
	}
	if !strings.Contains(r.URL.Path, "/blobs/uploads/") {
		n.next.ServeHTTP(w, r)
		return
	}
	query := r.URL.Query()
	if d := digest.Digest(query.Get("digest")); isOther(d) {
		w = &aliasWriter{ResponseWriter: w, asked: d}
	}
	if d := digest.Digest(query.Get("mount")); isOther(d) && r.Method == http.MethodPost {
		n.mount(w, r, d, query.Get("from"))
		return
	}
	n.next.ServeHTTP(w, r)
}

// mount handles a request to take a blob from the repository from, without an upload. It replaces
// the digest in the request by the blob's sha256 digest, because the library can mount by sha256
// digests only. If from does not have the blob, the library starts an upload instead.
func (n *digestAliases) mount(w http.ResponseWriter, r *http.Request, asked digest.Digest, from string) {
	query := r.URL.Query()
	query.Del("mount")
	var kept digest.Digest
	if _, err := reference.WithName(from); err == nil {
		if desc, err := n.store.Linked(r.Context(), from, asked); err == nil {
			kept = desc.Digest
			query.Set("mount", kept.String())
		}
	}
	r = at(r, r.URL.Path)
	r.URL.RawQuery = query.Encode()
	answer := serveBuffered(n.next, r)
	if answer.status == http.StatusCreated && kept != "" {
		name := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/v2/"), "/blobs/uploads/")
		if err := n.store.AliasBlob(r.Context(), name, asked, kept); err != nil {
			n.log.Error("the alias of a blob cannot be stored", "repository", name, "digest", asked.String(), "error", err)
			registryError(w, http.StatusInternalServerError, "UNKNOWN", "the depot cannot write to its store: see its log")
			return
		}
		aliasHeaders(answer.header, asked)
	}
	answer.send(w)
}

// aliasHeaders replaces the sha256 digest in the headers of an answer by asked, the digest that the
// client used.
func aliasHeaders(h http.Header, asked digest.Digest) {
	kept := h.Get("Docker-Content-Digest")
	if kept == "" {
		return // the answer is not about a blob or manifest: it is an error, for example
	}
	h.Set("Docker-Content-Digest", asked.String())
	for _, name := range []string{"Location", "ETag"} {
		if value := h.Get(name); value != "" {
			h.Set(name, strings.Replace(value, kept, asked.String(), 1))
		}
	}
}

// aliasWriter applies aliasHeaders to an answer before the header is written.
type aliasWriter struct {
	http.ResponseWriter
	asked digest.Digest
	begun bool
}

func (r *aliasWriter) WriteHeader(status int) {
	if !r.begun {
		r.begun = true
		aliasHeaders(r.Header(), r.asked)
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *aliasWriter) Write(p []byte) (int, error) {
	if !r.begun {
		r.WriteHeader(http.StatusOK)
	}
	return r.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (r *aliasWriter) Unwrap() http.ResponseWriter { return r.ResponseWriter }
