package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/distribution/distribution/v3"
	_ "github.com/distribution/distribution/v3/manifest/ocischema" // registers the format of a document's manifest
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

// Document is an OCI artifact that the depot stores for itself. It has a config blob in JSON, and
// any number of blobs that the config describes.
type Document struct {
	// Type is the artifact's media type; the config's media type is Type with +json.
	Type   string
	Config []byte
	Layers []v1.Descriptor
	// Digest is the digest of the manifest. Load sets it.
	Digest digest.Digest
}

// maxDocument is the largest size, in bytes, of a config blob that is read.
const maxDocument = 4 << 20

// Save stores a document and points the tag to it. The change becomes visible with one write, that
// of the tag, so readers get either the old or the new document.
func (s *Store) Save(ctx context.Context, repository, tag string, doc Document) error {
	if len(doc.Config) > maxDocument {
		return fmt.Errorf("%s has %d bytes of metadata: at most %d are allowed", repository, len(doc.Config), maxDocument)
	}
	pinned := s.pinDocument(doc)
	defer pinned.release()
	repo, err := s.Repository(ctx, repository)
	if err != nil {
		return err
	}
	config, err := repo.Blobs(ctx).Put(ctx, doc.Type+"+json", doc.Config)
	if err != nil {
		return fmt.Errorf("store metadata of %s: %w", repository, err)
	}
	config.MediaType = doc.Type + "+json"
	for _, layer := range doc.Layers {
		if err := s.Link(ctx, repository, layer); err != nil {
			return err
		}
	}
	old, _ := repo.Tags(ctx).Get(ctx, tag) // none is fine
	desc, err := putManifest(ctx, repo, doc, config, pinned)
	if err != nil {
		return fmt.Errorf("store manifest of %s: %w", repository, err)
	}
	if err := repo.Tags(ctx).Tag(ctx, tag, desc); err != nil {
		return fmt.Errorf("tag %s: %w", repository, err)
	}
	if old.Digest != "" && old.Digest != desc.Digest {
		return deleteManifest(ctx, repo, old.Digest)
	}
	return nil
}

// pinDocument pins the blobs of a document.
func (s *Store) pinDocument(doc Document) *holder {
	pinned := &holder{store: s}
	pinned.pin(digest.FromBytes(doc.Config))
	for _, layer := range doc.Layers {
		pinned.pin(layer.Digest)
	}
	return pinned
}

// putManifest stores the manifest of a document. pinned pins it: without a tag, it could be removed.
func putManifest(ctx context.Context, repo distribution.Repository, doc Document, config v1.Descriptor, pinned *holder) (v1.Descriptor, error) {
	layers := doc.Layers
	if len(layers) == 0 {
		layers = []v1.Descriptor{config} // a manifest should have a layer
	}
	body, err := json.Marshal(v1.Manifest{
		Versioned:    specs.Versioned{SchemaVersion: 2},
		MediaType:    v1.MediaTypeImageManifest,
		ArtifactType: doc.Type,
		Config:       config,
		Layers:       layers,
	})
	if err != nil {
		return v1.Descriptor{}, err
	}
	manifest, desc, err := distribution.UnmarshalManifest(v1.MediaTypeImageManifest, body)
	if err != nil {
		return v1.Descriptor{}, err
	}
	manifests, err := repo.Manifests(ctx)
	if err != nil {
		return v1.Descriptor{}, err
	}
	pinned.pin(desc.Digest)
	_, err = manifests.Put(ctx, manifest)
	return desc, err
}

// DeleteManifest removes a manifest of a repository, if it is there.
func (s *Store) DeleteManifest(ctx context.Context, repository string, d digest.Digest) error {
	repo, err := s.Repository(ctx, repository)
	if err != nil {
		return err
	}
	return deleteManifest(ctx, repo, d)
}

func deleteManifest(ctx context.Context, repo distribution.Repository, d digest.Digest) error {
	manifests, err := repo.Manifests(ctx)
	if err != nil {
		return err
	}
	if err := manifests.Delete(ctx, d); err != nil && !IsAbsent(err) {
		return err
	}
	return nil
}

// Load returns the document of a tag. If there is none, IsAbsent is true for the error.
func (s *Store) Load(ctx context.Context, repository, tag string) (Document, error) {
	repo, err := s.Repository(ctx, repository)
	if err != nil {
		return Document{}, err
	}
	manifests, err := repo.Manifests(ctx)
	if err != nil {
		return Document{}, err
	}
	var last digest.Digest
	for {
		desc, err := repo.Tags(ctx).Get(ctx, tag)
		if err != nil {
			return Document{}, damaged("tag "+tag, err)
		}
		manifest, err := manifests.Get(ctx, desc.Digest)
		if IsAbsent(err) && desc.Digest != last {
			last = desc.Digest // Save may have moved the tag meanwhile: read it again
			continue
		}
		if err != nil {
			return Document{}, lost("manifest "+desc.Digest.String(), err)
		}
		return s.parse(ctx, repo, desc.Digest, manifest)
	}
}

func (s *Store) parse(ctx context.Context, repo distribution.Repository, d digest.Digest, manifest distribution.Manifest) (Document, error) {
	what := "manifest " + d.String()
	_, body, err := manifest.Payload()
	if err != nil {
		return Document{}, damaged(what, err)
	}
	if digest.FromBytes(body) != d {
		return Document{}, &DamagedError{what, errOther}
	}
	var m v1.Manifest
	if err := json.Unmarshal(body, &m); err != nil {
		return Document{}, &DamagedError{what, err}
	}
	if m.Config.Size > maxDocument {
		return Document{}, &DamagedError{what, fmt.Errorf("its metadata has %d bytes, more than the depot ever writes", m.Config.Size)}
	}
	what = fmt.Sprintf("metadata %s of manifest %s", m.Config.Digest, d)
	config, err := repo.Blobs(ctx).Get(ctx, m.Config.Digest)
	if err != nil {
		return Document{}, lost(what, err)
	}
	if digest.FromBytes(config) != m.Config.Digest {
		return Document{}, &DamagedError{what, errOther}
	}
	return Document{Type: m.ArtifactType, Config: config, Layers: m.Layers, Digest: d}, nil
}
