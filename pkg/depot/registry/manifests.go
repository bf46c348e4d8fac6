package registry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"

	"github.com/distribution/distribution/v3"
	"github.com/distribution/distribution/v3/manifest/schema2"
	"github.com/opencontainers/go-digest"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// maxManifest is the most bytes that the registry takes of a manifest.
const maxManifest = 4 << 20

// manifestValidator does what the registry's library leaves out when a manifest is
// pushed: it refuses with a reason what the library would call an internal
// error, takes a manifest by another digest than its sha256, and says that its
// subject is understood.
type manifestValidator struct {
	store *store.Store
	log   *slog.Logger
	next  http.Handler
}

func (t *manifestValidator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, ref, ok := cutPath(r.URL.Path, "/manifests/")
	switch {
	case ok && r.Method == http.MethodPut:
		t.put(w, r, name, ref)
	case ok && r.Method == http.MethodDelete:
		t.delete(w, r, name, ref)
	default:
		t.next.ServeHTTP(w, r)
	}
}

func (t *manifestValidator) put(w http.ResponseWriter, r *http.Request, name, ref string) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxManifest+1))
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), r.Body), r.Body}
	if err != nil || len(body) > maxManifest {
		t.next.ServeHTTP(w, r) // it reads the same, and says so
		return
	}
	if err := acceptable(r.Header.Get("Content-Type"), body); err != nil {
		registryError(w, http.StatusBadRequest, "MANIFEST_INVALID", err.Error())
		return
	}
	if protocol.IsCreateOnly(r.Header) && t.hasOther(r, name, ref, digest.FromBytes(body)) {
		registryError(w, http.StatusPreconditionFailed, "DENIED", name+":"+ref+": "+protocol.Exists)
		return
	}
	asked := digest.Digest(ref)
	if !isOther(asked) {
		asked = ""
	} else if asked != asked.Algorithm().FromBytes(body) {
		registryError(w, http.StatusBadRequest, "DIGEST_INVALID", "the manifest has "+asked.Algorithm().FromBytes(body).String()+", not "+ref)
		return
	} else {
		r = at(r, "/v2/"+name+"/manifests/"+digest.FromBytes(body).String())
	}
	answer := serveBuffered(t.next, r)
	if answer.status == http.StatusCreated && asked != "" {
		if err := t.store.AliasManifest(r.Context(), name, asked, digest.FromBytes(body)); err != nil {
			t.log.Error("a manifest cannot be kept by its digest", "repository", name, "digest", ref, "error", err)
			registryError(w, http.StatusInternalServerError, "UNKNOWN", "the depot cannot write to its store: see its log")
			return
		}
		aliasHeaders(answer.header, asked)
	}
	if subject := store.SubjectOf(body); answer.status == http.StatusCreated && subject != "" {
		answer.header.Set("OCI-Subject", subject.String())
	}
	answer.send(w)
}

// hasOther says whether a tag leads to another manifest. What is not known for sure is another.
func (t *manifestValidator) hasOther(r *http.Request, name, tag string, than digest.Digest) bool {
	repo, err := t.store.Repository(r.Context(), name)
	if err != nil || digest.Digest(tag).Validate() == nil {
		return false // the library says what is wrong; by a digest, nothing is replaced
	}
	held, err := repo.Tags(r.Context()).Get(r.Context(), tag)
	return !store.IsAbsent(err) && held.Digest != than
}

// delete removes a manifest under all its digests, with its tags, whichever is named.
func (t *manifestValidator) delete(w http.ResponseWriter, r *http.Request, name, ref string) {
	if asked := digest.Digest(ref); isOther(asked) {
		if kept, err := t.store.Kept(r.Context(), name, asked); err == nil {
			r = at(r, "/v2/"+name+"/manifests/"+kept.String())
		}
	}
	t.next.ServeHTTP(w, r)
}

// at is a request for another path.
func at(r *http.Request, path string) *http.Request {
	r = r.Clone(r.Context())
	r.URL = &url.URL{Path: path, RawQuery: r.URL.RawQuery}
	return r
}

// acceptable says what is wrong with a manifest where the library says only
// that something is. What is missing is left to the library, which knows.
func acceptable(contentType string, body []byte) error {
	manifest, _, err := distribution.UnmarshalManifest(contentType, body)
	if err != nil {
		return fmt.Errorf("a manifest of type %q: %w", contentType, err)
	}
	var version struct{ SchemaVersion int }
	if err := json.Unmarshal(body, &version); err != nil || version.SchemaVersion != 2 {
		return fmt.Errorf("schemaVersion is %d: the registry takes manifests of version 2", version.SchemaVersion)
	}
	mediaType, _, _ := mime.ParseMediaType(contentType) // was understood a moment ago
	for _, part := range manifest.References() {
		if err := part.Digest.Validate(); err != nil {
			return fmt.Errorf("digest %q: %w: name it by sha256, sha384 or sha512", part.Digest, err)
		}
		if part.MediaType == schema2.MediaTypeForeignLayer && len(part.URLs) == 0 && mediaType == schema2.MediaTypeManifest {
			return fmt.Errorf("layer %s is to be had from elsewhere, and has no URL", part.Digest)
		}
		for _, u := range part.URLs {
			if !isWebPage(u) {
				return fmt.Errorf("URL %q of %s: it must begin with http:// or https:// and have no fragment", u, part.Digest)
			}
		}
	}
	return nil
}

func isWebPage(u string) bool {
	parsed, err := url.Parse(u)
	return err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https") && parsed.Fragment == ""
}
