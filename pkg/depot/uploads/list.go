package uploads

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// List calls visit for the records of complete artifacts and open uploads. owner, cluster and kind
// select artifacts; an empty value selects all. cluster needs an owner, and kind needs a cluster.
// If the record of an artifact is damaged, List calls damaged instead of visit, and continues
// unless damaged returns an error.
func (s *Service) List(ctx context.Context, owner, cluster string, kind protocol.Kind, visit func(protocol.Record) error, damaged func(protocol.Ref, error) error) error {
	at := protocol.Artifacts
	depth := 4
	for _, part := range []string{owner, cluster, string(kind)} {
		if part == "" {
			break
		}
		if depth > 2 {
			part = protocol.Escape(part)
		}
		at, depth = path.Join(at, part), depth-1
	}
	if err := s.listStored(ctx, at, depth, visit, damaged); err != nil {
		return err
	}
	return s.eachPending(ctx, func(p Pending) error {
		ref := p.Record.Ref()
		if owner != "" && ref.Owner != owner || cluster != "" && ref.Cluster != cluster || kind != "" && ref.Kind != kind {
			return nil
		}
		open, err := s.Open(ctx, ref)
		if errors.Is(err, ErrNotFound) || store.IsAbsent(err) {
			return nil // finished meanwhile, or its bytes are just being removed
		}
		if err != nil {
			return err
		}
		return visit(open.Record)
	})
}

func (s *Service) listStored(ctx context.Context, at string, depth int, visit func(protocol.Record) error, damaged func(protocol.Ref, error) error) error {
	if depth == 0 {
		ref, ok := protocol.ParseRepository(at)
		if !ok {
			return nil
		}
		stored, err := s.Stored(ctx, ref)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		var hurt *store.DamagedError
		if errors.As(err, &hurt) {
			s.log.Error("a record is damaged: run \"depot scrub\" on the store; delete the artifact and upload it again", "artifact", ref.String(), "error", err)
			return damaged(ref, hurt)
		}
		if err != nil {
			return err
		}
		return visit(stored.Record)
	}
	paths, err := s.store.Driver.List(ctx, path.Join(store.RepositoriesPath, at))
	if err != nil && !store.IsAbsent(err) {
		return err
	}
	slices.Sort(paths)
	for _, p := range paths {
		if name := path.Base(p); !strings.HasPrefix(name, "_") {
			if err := s.listStored(ctx, path.Join(at, name), depth-1, visit, damaged); err != nil {
				return err
			}
		}
	}
	return nil
}
