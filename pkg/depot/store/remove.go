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

// removalsDir is where removals are noted while they last. A kill between two
// of their steps would else leave a repository that no tag leads to, and that
// nobody knows to be garbage.
const removalsDir = "/depot/removals"

// removal is a document that is being removed. Its digest keeps a newer one of
// the same tag out of it.
type removal struct {
	Repository string `json:"repository"`
	Tag        string `json:"tag"`
	// Digest is the manifest's; empty where the tag was damaged.
	Digest digest.Digest `json:"digest"`
}

func removalPath(repository, tag string) string {
	sum := sha256.Sum256([]byte(repository + ":" + tag))
	return path.Join(removalsDir, hex.EncodeToString(sum[:16]))
}

// Remove takes a document away, with its manifest and, if it was the last, its
// repository. Its blobs stay until they are collected. A removal that failed
// half-way goes on when it is asked for again, or with FinishRemovals. Nobody
// else may work on the document meanwhile.
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
		return fmt.Errorf("note the removal of %s: %w", repository, err)
	}
	if err := s.remove(ctx, removal{repository, tag, desc.Digest}); err != nil {
		return err
	}
	return s.drop(ctx, note)
}

// FinishRemovals ends what a crash has interrupted. Call it while nobody works
// on documents. A note that cannot be read keeps no other from being done.
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
	if strings.HasSuffix(note, ".tmp") { // a note that a crash kept from being one
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
		return r, false, fmt.Errorf("the note of a removal is damaged: remove %s from the store: %w", note, err)
	}
	return r, true, nil
}

// remove does the steps: out of sight first. Each may have been done before.
func (s *Store) remove(ctx context.Context, r removal) error {
	repo, err := s.Repository(ctx, r.Repository)
	if err != nil {
		return err
	}
	desc, err := repo.Tags(ctx).Get(ctx, r.Tag)
	if err != nil && !IsAbsent(err) && !isDamage(err) {
		return err
	}
	// Without its link a tag is no tag, and what is left of its folder goes too.
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

// drop deletes a path, which may be gone.
func (s *Store) drop(ctx context.Context, at string) error {
	if err := s.Driver.Delete(ctx, at); err != nil && !IsAbsent(err) {
		return fmt.Errorf("delete %s: %w", at, err)
	}
	return nil
}
