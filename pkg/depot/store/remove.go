package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/opencontainers/go-digest"
)

// removalsDir is the folder, in the storage driver, that has a note for each removal in progress. A
// note is a small file that names the document. Without the note, a kill between two steps could
// leave a repository that has no tag, and nothing would recognize that repository as garbage.
const removalsDir = "/depot/removals"

// removal is the content of a note: it names a document that is being removed. Because of Digest, a
// newer document of the same tag is not removed.
type removal struct {
	Repository string `json:"repository"`
	Tag        string `json:"tag"`
	// Digest is the digest of the manifest; empty if the tag was damaged.
	Digest digest.Digest `json:"digest"`
}

func removalPath(repository, tag string) string {
	sum := sha256.Sum256([]byte(repository + ":" + tag))
	return path.Join(removalsDir, hex.EncodeToString(sum[:16]))
}

// Remove removes a document and its manifest. It also removes the repository if no other document
// is left there. The blobs stay until the next garbage collection. If a removal fails, another call
// of Remove or FinishRemovals completes it. The caller must ensure that no one else changes the
// document meanwhile.
func (s *Store) Remove(ctx context.Context, repository, tag string) error {
	note := removalPath(repository, tag)
	earlier, begun, err := s.readRemoval(ctx, note)
	if err != nil {
		return err
	}
	if begun {
		if err := s.remove(ctx, earlier); err != nil {
			return err
		}
	}
	repo, err := s.Repository(ctx, repository)
	if err != nil {
		return err
	}
	desc, err := repo.Tags(ctx).Get(ctx, tag)
	if begun && IsAbsent(err) {
		return s.drop(ctx, note)
	}
	if err != nil && !isDamage(err) {
		return err
	}
	body, err := json.Marshal(removal{repository, tag, desc.Digest})
	if err != nil {
		return err
	}
	if err := s.Driver.PutContent(ctx, note, body); err != nil {
		return fmt.Errorf("save the note of the removal of %s: %w", repository, err)
	}
	if err := s.remove(ctx, removal{repository, tag, desc.Digest}); err != nil {
		return err
	}
	return s.drop(ctx, note)
}

// FinishRemovals completes the removals that a crash interrupted. Call it while no one else changes
// documents. A note that cannot be read does not stop the other removals.
func (s *Store) FinishRemovals(ctx context.Context) error {
	notes, err := s.Driver.List(ctx, removalsDir)
	if err != nil && !IsAbsent(err) {
		return err
	}
	var errs []error
	for _, note := range notes {
		errs = append(errs, s.finishRemoval(ctx, note))
	}
	return errors.Join(errs...)
}

func (s *Store) finishRemoval(ctx context.Context, note string) error {
	if strings.HasSuffix(note, ".tmp") { // a note whose writing a crash interrupted
		return s.drop(ctx, note)
	}
	r, ok, err := s.readRemoval(ctx, note)
	if err != nil || !ok {
		return err
	}
	if err := s.remove(ctx, r); err != nil {
		return fmt.Errorf("finish the removal of %s: %w", r.Repository, err)
	}
	return s.drop(ctx, note)
}

func (s *Store) readRemoval(ctx context.Context, note string) (removal, bool, error) {
	body, err := s.Driver.GetContent(ctx, note)
	if IsAbsent(err) {
		return removal{}, false, nil
	}
	if err != nil {
		return removal{}, false, err
	}
	var r removal
	if err := json.Unmarshal(body, &r); err != nil {
		return r, false, fmt.Errorf("the note of a removal is damaged: remove the file %s from the store: %w", note, err)
	}
	return r, true, nil
}

// remove performs the steps of a removal. The first step makes the document invisible. An earlier
// attempt may have done some of the steps already.
func (s *Store) remove(ctx context.Context, r removal) error {
	repo, err := s.Repository(ctx, r.Repository)
	if err != nil {
		return err
	}
	desc, err := repo.Tags(ctx).Get(ctx, r.Tag)
	if err != nil && !IsAbsent(err) && !isDamage(err) {
		return err
	}
	// If the link of the tag is missing, the tag does not exist for readers, but the rest of the
	// tag's folder must still be removed.
	if err != nil || desc.Digest == r.Digest {
		if err := repo.Tags(ctx).Untag(ctx, r.Tag); err != nil && !IsAbsent(err) {
			return fmt.Errorf("untag %s: %w", r.Repository, err)
		}
	}
	if r.Digest != "" {
		if err := deleteManifest(ctx, repo, r.Digest); err != nil {
			return err
		}
	}
	rest, err := repo.Tags(ctx).All(ctx)
	if err != nil && !IsAbsent(err) || len(rest) > 0 {
		return err
	}
	return s.drop(ctx, RepositoriesPath+"/"+r.Repository)
}

// drop deletes a path, which may not exist.
func (s *Store) drop(ctx context.Context, at string) error {
	if err := s.Driver.Delete(ctx, at); err != nil && !IsAbsent(err) {
		return fmt.Errorf("delete %s: %w", at, err)
	}
	return nil
}
