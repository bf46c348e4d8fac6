package uploads

import (
	"context"
	"fmt"

	"github.com/akraino-icn/bpa/pkg/depot/limits"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// accountOf returns the account to which an artifact counts.
func accountOf(ref protocol.Ref) limits.Account {
	return limits.Account{Owner: ref.Owner, Backup: ref.IsBackup()}
}

// countOwner counts the complete artifacts of an owner for its share, once. The quota then follows
// each change.
func (s *Service) countOwner(ctx context.Context, owner string) error {
	if s.quota.Known(owner) {
		return nil
	}
	s.sharing.Lock()
	defer s.sharing.Unlock()
	if s.quota.Known(owner) {
		return nil
	}
	var bytes int64
	at := protocol.Artifacts + "/" + protocol.Escape(owner)
	err := s.listStored(ctx, at, 3, func(r protocol.Record) error {
		bytes += r.ImageLength
		return nil
	}, func(protocol.Ref, error) error { return nil }) // the size of a damaged artifact is not known
	if err != nil {
		return fmt.Errorf("count the artifacts of %s: %w", owner, err)
	}
	s.quota.Know(owner, bytes)
	return nil
}

// remove removes a complete artifact, and gives its bytes back to the share of its owner.
func (s *Service) remove(ctx context.Context, ref protocol.Ref) error {
	s.sharing.RLock()
	defer s.sharing.RUnlock()
	stored, readErr := s.Stored(ctx, ref)
	err := s.store.Remove(ctx, ref.Repository(), protocol.Tag)
	switch {
	case store.IsAbsent(err):
	case err != nil || readErr != nil:
		s.quota.Forget(ref.Owner) // its size is not known, or it may be removed or not
	default:
		s.quota.Removed(ref.Owner, stored.Record.ImageLength)
	}
	return err
}
