package registry

import (
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/distribution/reference"
	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/akraino-icn/bpa/pkg/depot/referrers"
	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// lister answers GET /v2/{name}/referrers/{digest}, which the registry library lacks: the list of
// manifests that refer to a manifest. All other requests go to next.
func lister(s *store.Store, log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, subject, ok := cutPath(r.URL.Path, "/referrers/")
		if !ok {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			registryError(w, http.StatusMethodNotAllowed, "UNSUPPORTED", "the list of referrers is read-only: push or delete the referring manifests instead")
			return
		}
		sendReferrers(w, r, s, log, referrers.Query{
			Repository: name, Subject: digest.Digest(subject),
			ArtifactType: r.URL.Query().Get("artifactType"), After: digest.Digest(r.URL.Query().Get("last")),
		})
	})
}

// cutPath splits /v2/{name}{word}{rest} at the last word, because the name of a repository may
// contain the word too. ok is false if the rest is empty or has a slash.
func cutPath(path, word string) (name, rest string, ok bool) {
	path, ok = strings.CutPrefix(path, "/v2/")
	at := strings.LastIndex(path, word)
	if !ok || at < 1 {
		return "", "", false
	}
	name, rest = path[:at], path[at+len(word):]
	return name, rest, rest != "" && !strings.Contains(rest, "/")
}

// pages limits how many pages of referrers are built at the same time. Anonymous clients may
// request pages, and for each page the depot may read as many manifests as referrers.List allows.
var pages = make(chan struct{}, 8)

func sendReferrers(w http.ResponseWriter, r *http.Request, s *store.Store, log *slog.Logger, q referrers.Query) {
	if _, err := reference.WithName(q.Repository); err != nil {
		registryError(w, http.StatusBadRequest, "NAME_INVALID", "repository "+q.Repository+": "+err.Error())
		return
	}
	for _, d := range []digest.Digest{q.Subject, q.After} {
		if err := d.Validate(); d != "" && err != nil {
			registryError(w, http.StatusBadRequest, "DIGEST_INVALID", "digest "+d.String()+": "+err.Error())
			return
		}
	}
	select {
	case pages <- struct{}{}:
		defer func() { <-pages }()
	case <-r.Context().Done():
		return
	}
	page, err := referrers.List(r.Context(), s, q)
	if err != nil {
		if r.Context().Err() == nil {
			log.Error("referrers cannot be listed", "repository", q.Repository, "subject", q.Subject.String(), "error", err)
		}
		registryError(w, http.StatusInternalServerError, "UNKNOWN", "the depot cannot read its store: see its log")
		return
	}
	h := w.Header()
	h.Set("Content-Type", v1.MediaTypeImageIndex)
	if q.ArtifactType != "" {
		h.Set("OCI-Filters-Applied", "artifactType")
	}
	if page.Next != "" {
		query := url.Values{"last": {page.Next.String()}}
		if q.ArtifactType != "" {
			query.Set("artifactType", q.ArtifactType)
		}
		h.Set("Link", "<"+r.URL.Path+"?"+query.Encode()+`>; rel="next"`)
	}
	_, _ = w.Write(page.Body) // the client may have disconnected
}
