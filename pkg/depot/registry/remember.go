package registry

import (
	"context"
	"net/http"

	"github.com/opencontainers/go-digest"

	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// remember records the blobs and manifests of which clients learn that they are in a repository. A
// client that pushes an image asks for each blob and does not send those that the depot has. A
// cluster that pulls an image uses it from then on. A garbage collection keeps such content for
// some time.
func remember(s *store.Store, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, kept, ok := lookup(r, s)
		if !ok {
			next.ServeHTTP(w, r)
			return
		}
		defer s.Pin(kept)() // before the content is looked up: no collection can remove it between that and the record
		next.ServeHTTP(w, r)
		// This header is in answers about content that exists. A request by tag has no digest.
		found := digest.Digest(w.Header().Get("Docker-Content-Digest"))
		if kept == "" {
			kept = keptBy(r.Context(), s, name, found)
		}
		if found != "" {
			s.Asked(kept)
		}
	})
}

// lookup returns the repository and the sha256 digest of the content for which a request asks. The
// digest is empty for a manifest by tag. ok is false for other requests.
func lookup(r *http.Request, s *store.Store) (name string, kept digest.Digest, ok bool) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return "", "", false
	}
	if name, ref, ok := cutPath(r.URL.Path, "/manifests/"); ok {
		return name, keptBy(r.Context(), s, name, digest.Digest(ref)), true
	}
	// A download of a blob begins with its manifest, which is recorded.
	name, d, ok := parseBlob(r.URL.Path)
	return name, keptBy(r.Context(), s, name, d), ok && r.Method == http.MethodHead
}

// keptBy returns the digest by which the store keeps content of a repository; "" if d is no digest.
func keptBy(ctx context.Context, s *store.Store, name string, d digest.Digest) digest.Digest {
	if d.Validate() != nil {
		return ""
	}
	if !isOther(d) {
		return d
	}
	if kept, err := s.Kept(ctx, name, d); err == nil {
		return kept
	}
	if desc, err := s.Linked(ctx, name, d); err == nil {
		return desc.Digest
	}
	return d
}
