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

// Query says which referrers are asked for.
type Query struct {
	Repository string
	Subject    digest.Digest
	// ArtifactType is that of those which are wanted; empty: all.
	ArtifactType string
	// After is the last one of the page before; empty: the first page.
	After digest.Digest
}

// Limits of one page. A client need not take a manifest of more bytes, and the
// others bound what is read for one answer, whatever the filter leaves of it.
const (
	maxBytes     = 4 << 20
	maxRead      = 1000
	maxReadBytes = 64 << 20
)

// envelope is more than an index takes without its manifests.
const envelope = 1 << 10

// Page is part of the list.
type Page struct {
	// Body is an OCI index.
	Body []byte
	// Next is what the query for the next page comes after; empty: this is the last one.
	Next digest.Digest
}

// List gives a page of referrers in the order of their digests. Nothing that
// refers to a subject, or no such repository, is an empty page.
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

// add says whether there was room. What is not asked for needs none.
func (l *list) add(ctx context.Context, s *store.Store, q Query, d digest.Digest) (fits bool, err error) {
	body, err := s.Manifest(ctx, q.Repository, d)
	if store.IsAbsent(err) {
		return true, nil // a link or an index of a client outlived it
	}
	if err != nil {
		return false, err
	}
	l.read += len(body)
	if store.SubjectOf(body) != q.Subject {
		return true, nil // an index of a client says more than is true
	}
	desc := describe(body, d)
	if q.ArtifactType != "" && desc.ArtifactType != q.ArtifactType {
		return true, nil
	}
	entry, err := json.Marshal(desc)
	if err == nil && len(entry) > maxBytes-envelope {
		desc.Annotations = nil // it alone is more than a page; they are in the manifest
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

// describe is how a manifest that is known to have a subject is listed.
func describe(body []byte, d digest.Digest) v1.Descriptor {
	var m struct {
		MediaType, ArtifactType string
		Config                  *v1.Descriptor
		Annotations             map[string]string
	}
	_ = json.Unmarshal(body, &m) // its subject has been read from it
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
