package store

import (
	"context"
	"path"
	"strings"
)

// EachRepository calls visit for each repository that exists during the whole call. Clients may add
// and remove repositories meanwhile. Unlike the registry library, it also finds a repository with
// manifests and no blobs, and goes on if a folder disappears.
func (s *Store) EachRepository(ctx context.Context, visit func(name string) error) error {
	return s.eachBelow(ctx, "", visit)
}

func (s *Store) eachBelow(ctx context.Context, name string, visit func(string) error) error {
	entries, err := s.Driver.List(ctx, path.Join(RepositoriesPath, name))
	if err != nil {
		return unlessAbsent(err) // removed meanwhile, or nothing was ever pushed
	}
	is := false
	var below []string
	for _, at := range entries {
		part := path.Base(at)
		if strings.HasPrefix(part, "_") {
			is = true
		} else {
			below = append(below, path.Join(name, part))
		}
	}
	if is && name != "" {
		if err := visit(name); err != nil {
			return err
		}
	}
	for _, next := range below {
		if err := s.eachBelow(ctx, next, visit); err != nil {
			return err
		}
	}
	return ctx.Err()
}
