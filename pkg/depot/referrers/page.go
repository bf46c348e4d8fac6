package referrers

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// Query selects referrers.
type Query struct {
	Repository string
	Subject    digest.Digest
	// ArtifactType selects the referrers of one artifact type; empty: all.
	ArtifactType string
	// After is the last digest of the previous page; empty: the query is for the first page.
	After digest.Digest
}

// These are the limits of one page. maxBytes is the size of the largest manifest that a client must
// accept. maxRead limits how many manifests are read for one page, and maxReadBytes how many bytes.
// They also count manifests that the filter does not select.
const (
	maxBytes     = 4 << 20
	maxRead      = 1000
	maxReadBytes = 64 << 20
)

// envelope is more than the size, in bytes, of an index without manifests.
const envelope = 1 << 10

// Page is one page of the list.
type Page struct {
	// Body is an OCI index.
	Body []byte
	// Next is the value of After in the query for the next page; empty: this is the last page.
	Next digest.Digest
}

// List returns a page of referrers, sorted by digest. The page is empty if nothing refers to the
// subject, or if the repository does not exist.
func List(ctx context.Context, s *store.Store, q Query) (Page, error) {
	candidates, err := s.Referrers(ctx, q.Repository, q.Subject)
	if err != nil {
		return Page{}, err
	}
	from, found := slices.BinarySearch(candidates, q.After)
	if found {
		from++
	}
	list := list{left: maxBytes - envelope}
	last := q.After
	for n, d := range candidates[from:] {
		fits := n < maxRead && list.read < maxReadBytes
		if fits {
			if fits, err = list.add(ctx, s, q, d); err != nil {
				return Page{}, fmt.Errorf("referrer %s of %s in %s: %w", d, q.Subject, q.Repository, err)
			}
		}
		if !fits {
			return list.page(last)
		}
		last = d
	}
	return list.page("")
}

// list is a page that is being filled.
type list struct {
	manifests  []json.RawMessage
	left, read int
}

// add adds a referrer to the page, and reports whether it fits. A referrer that the query does not
// select always fits.
func (l *list) add(ctx context.Context, s *store.Store, q Query, d digest.Digest) (fits bool, err error) {
	body, err := s.Manifest(ctx, q.Repository, d)
	if store.IsAbsent(err) {
		return true, nil // deleted, but a link or a client's index still names it
	}
	if err != nil {
		return false, err
	}
	l.read += len(body)
	if store.SubjectOf(body) != q.Subject {
		return true, nil // a client's index lists it wrongly
	}
	desc := describe(body, d)
	if q.ArtifactType != "" && desc.ArtifactType != q.ArtifactType {
		return true, nil
	}
	entry, err := json.Marshal(desc)
	if err == nil && len(entry) > maxBytes-envelope {
		desc.Annotations = nil // with its annotations, the entry would exceed a page; clients find them in the manifest
		entry, err = json.Marshal(desc)
	}
	if err != nil || len(entry) > l.left {
		return false, err
	}
	l.manifests, l.left = append(l.manifests, entry), l.left-len(entry)-1
	return true, nil
}

func (l *list) page(next digest.Digest) (Page, error) {
	body, err := json.Marshal(struct {
		specs.Versioned
		MediaType string            `json:"mediaType"`
		Manifests []json.RawMessage `json:"manifests"`
	}{specs.Versioned{SchemaVersion: 2}, v1.MediaTypeImageIndex, append([]json.RawMessage{}, l.manifests...)})
	return Page{body, next}, err
}

// describe returns the list entry of a manifest that has a subject.
func describe(body []byte, d digest.Digest) v1.Descriptor {
	var m struct {
		MediaType, ArtifactType string
		Config                  *v1.Descriptor
		Annotations             map[string]string
	}
	_ = json.Unmarshal(body, &m) // cannot fail: the body is valid JSON, since its subject was read before
	desc := v1.Descriptor{
		MediaType: m.MediaType, Digest: d, Size: int64(len(body)),
		ArtifactType: m.ArtifactType, Annotations: m.Annotations,
	}
	if desc.MediaType == "" {
		desc.MediaType = v1.MediaTypeImageIndex
		if m.Config != nil {
			desc.MediaType = v1.MediaTypeImageManifest
		}
	}
	if desc.ArtifactType == "" && m.Config != nil && desc.MediaType == v1.MediaTypeImageManifest {
		desc.ArtifactType = m.Config.MediaType
	}
	return desc
}
