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

// maxManifest is the size of the largest manifest that the registry accepts, in bytes.
const maxManifest = 4 << 20

// manifestValidator handles pushes and deletions of manifests. It adds what the registry library
// lacks. It answers 400 with a reason to manifests on which the library fails with an internal
// error. It obeys create-only requests and accepts sha384 and sha512 digests. If a manifest has a
// subject, it sets OCI-Subject in the answer to the push.
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
		t.next.ServeHTTP(w, r) // the library reads the same body and reports the error
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
	// The pins last until the manifest has its tag: without a tag, a collection could remove it.
	if manifest, _, err := distribution.UnmarshalManifest(r.Header.Get("Content-Type"), body); err == nil {
		defer t.store.PinManifest(r.Context(), name, digest.FromBytes(body), manifest)()
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
			t.log.Error("the alias of a manifest cannot be stored", "repository", name, "digest", ref, "error", err)
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

// hasOther reports whether the tag exists and names another manifest than the given digest. It
// also returns true if the tag cannot be read.
func (t *manifestValidator) hasOther(r *http.Request, name, tag string, than digest.Digest) bool {
	repo, err := t.store.Repository(r.Context(), name)
	if err != nil || digest.Digest(tag).Validate() == nil {
		return false // on an error, the library reports it; a push by digest replaces nothing
	}
	held, err := repo.Tags(r.Context()).Get(r.Context(), tag)
	return !store.IsAbsent(err) && held.Digest != than
}

// delete removes a manifest with its tags and all its digests. The request may name any of the
// digests.
func (t *manifestValidator) delete(w http.ResponseWriter, r *http.Request, name, ref string) {
	if asked := digest.Digest(ref); isOther(asked) {
		if kept, err := t.store.Kept(r.Context(), name, asked); err == nil {
			r = at(r, "/v2/"+name+"/manifests/"+kept.String())
		}
	}
	t.next.ServeHTTP(w, r)
}

// at returns a copy of r for another path.
func at(r *http.Request, path string) *http.Request {
	r = r.Clone(r.Context())
	r.URL = &url.URL{Path: path, RawQuery: r.URL.RawQuery}
	return r
}

// acceptable returns an error for manifests that the library refuses without a reason. It does not
// look for absent blobs: the library reports these itself.
func acceptable(contentType string, body []byte) error {
	manifest, _, err := distribution.UnmarshalManifest(contentType, body)
	if err != nil {
		return fmt.Errorf("a manifest of type %q: %w", contentType, err)
	}
	var version struct{ SchemaVersion int }
	if err := json.Unmarshal(body, &version); err != nil || version.SchemaVersion != 2 {
		return fmt.Errorf("schemaVersion is %d: the registry accepts version 2 only", version.SchemaVersion)
	}
	mediaType, _, _ := mime.ParseMediaType(contentType) // no error: UnmarshalManifest has parsed it already
	for _, part := range manifest.References() {
		if err := part.Digest.Validate(); err != nil {
			return fmt.Errorf("digest %q: %w: use sha256, sha384 or sha512", part.Digest, err)
		}
		if part.MediaType == schema2.MediaTypeForeignLayer && len(part.URLs) == 0 && mediaType == schema2.MediaTypeManifest {
			return fmt.Errorf("layer %s is a foreign layer and has no URL: add the URL of its download", part.Digest)
		}
		for _, u := range part.URLs {
			if !isWebPage(u) {
				return fmt.Errorf("URL %q of layer %s must begin with http:// or https:// and have no fragment", u, part.Digest)
			}
		}
	}
	return nil
}

func isWebPage(u string) bool {
	parsed, err := url.Parse(u)
	return err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https") && parsed.Fragment == ""
}
