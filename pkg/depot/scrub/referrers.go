package scrub

import (
	"context"
	"fmt"

	"github.com/distribution/distribution/v3"
	"github.com/opencontainers/go-digest"

	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// mark checks a repository's mark. The mark is a file that states that the repository has the links
// of all its referrers.
func (r *scrubber) mark(ctx context.Context, repository string) error {
	at, want := store.ReferrersMark(repository)
	content, err := r.store.Driver.GetContent(ctx, at)
	if store.IsAbsent(err) {
		return nil // removed since it was listed
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", at, err)
	}
	r.indexed[repository] = true
	if string(content) != want {
		r.links = append(r.links, Damage{What: at, Why: fmt.Sprintf("it says %q", content), Hurts: []string{nameOf(repository, "")}})
	}
	return nil
}

// referrer reports a manifest that has a subject but no referrer link. It reports nothing in a
// repository without a mark, which need not have all links.
func (r *scrubber) referrer(ctx context.Context, repository string, d digest.Digest, m distribution.Manifest) {
	_, body, err := m.Payload()
	if err != nil {
		return // cannot happen: the manifest was read before
	}
	subject := store.SubjectOf(body)
	if subject == "" || !r.indexed[repository] {
		return
	}
	at := store.ReferrerLink(repository, subject, d)
	if _, err := r.store.Driver.Stat(ctx, at); !store.IsAbsent(err) {
		return
	}
	if _, err := r.store.Kept(ctx, repository, d); store.IsAbsent(err) {
		return // deleted since it was listed
	}
	mark, _ := store.ReferrersMark(repository)
	r.links = append(r.links, Damage{
		What: at, Hurts: []string{nameOf(repository, "") + "@" + subject.String()},
		Why: fmt.Sprintf("it is missing, so the list of referrers lacks %s: remove the file %s, and the depot creates the missing links", d, mark),
	})
}
