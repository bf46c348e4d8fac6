package depot

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/akraino-icn/bpa/pkg/depot/garbage"
	"github.com/akraino-icn/bpa/pkg/depot/limits"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/depot/rest"
	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// DefaultGrace is the default of WithGrace.
const DefaultGrace = 24 * time.Hour

// WithGrace sets how long content stays that clients have sent and that nothing refers to.
func WithGrace(grace time.Duration) Option { return func(o *options) { o.grace = grace } }

// pullMemory is how long a depot must have run before it frees images that are not on a list: it
// then knows which images clusters have pulled since the list was made. The depot does not remember
// pulls from before its start.
const pullMemory = time.Hour

// maintenance runs garbage collections beside the clients, and counts what the depot holds. It
// implements rest.Maintenance.
type maintenance struct {
	depot   *Depot
	grace   time.Duration
	started time.Time
	now     func() time.Time
	// measuring lets concurrent callers of Usage share one count.
	measuring singleflight.Group

	mu   sync.Mutex
	last protocol.Collection
}

// StartCollection begins a collection in the background. It goes on if the client disconnects.
func (m *maintenance) StartCollection(o rest.CollectionOptions) (protocol.Collection, error) {
	if age := m.now().Sub(m.started); o.Keep != nil && !o.DryRun && age < pullMemory {
		return protocol.Collection{}, &limits.Refusal{Status: http.StatusConflict, Text: fmt.Sprintf(
			"the depot was started %s ago and does not know which images clusters have pulled before: free images that are not on a list in %s, or free only what nothing refers to now, without a list",
			age.Round(time.Second), (pullMemory - age).Round(time.Second))}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last.State == protocol.Collecting {
		return m.last, store.ErrCollecting
	}
	grace := m.grace
	if o.Grace != nil {
		grace = *o.Grace
	}
	m.last = protocol.Collection{ID: rand.Text(), State: protocol.Collecting, DryRun: o.DryRun, Started: m.now().UTC(), Grace: grace.String()}
	options := garbage.Options{DryRun: o.DryRun, Grace: grace, Held: m.depot.held, Progress: func(r garbage.Result) { m.report(r, nil, false) }}
	if o.Keep != nil {
		options.Keep = garbage.Listed(o.Keep)
	}
	m.depot.done.Go(func() { m.run(options) })
	return m.last, nil
}

func (m *maintenance) run(o garbage.Options) {
	log := m.depot.log
	log.Info("garbage collection begins", "dryRun", o.DryRun, "grace", o.Grace.String())
	result, err := garbage.Collect(m.depot.background, m.depot.store, o)
	m.report(result, err, true)
	if err != nil {
		log.Error("garbage collection failed: what it has not freed stays, and the next one continues", "error", err)
		return
	}
	log.Info("garbage collection has ended", "dryRun", o.DryRun, "manifests", result.Freed.Manifests, "blobs", result.Freed.Blobs, "bytes", result.Freed.Bytes)
}

func (m *maintenance) report(r garbage.Result, err error, ended bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &m.last
	c.Repositories, c.Blobs = r.Repositories, r.Blobs
	c.Manifests, c.FreedBlobs, c.Bytes = r.Freed.Manifests, r.Freed.Blobs, r.Freed.Bytes
	c.Recent, c.RecentBytes = r.Kinds[garbage.Recent].Count, r.Kinds[garbage.Recent].Bytes
	if !ended {
		return
	}
	now := m.now().UTC()
	c.Ended, c.State = &now, protocol.Collected
	if err != nil {
		c.State, c.Error = protocol.CollectionError, err.Error()
	}
}

// Collection returns the collection that runs, or the last one since the start of the depot. It
// returns false if there was none.
func (m *maintenance) Collection() (protocol.Collection, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last, m.last.ID != ""
}

// Usage counts what the depot holds. It reads every manifest, and no blob.
func (m *maintenance) Usage(ctx context.Context) (protocol.Usage, error) {
	counted := m.measuring.DoChan("", func() (any, error) { return m.measure(m.depot.background) })
	select {
	case <-ctx.Done():
		return protocol.Usage{}, ctx.Err()
	case c := <-counted:
		if c.Err != nil {
			return protocol.Usage{}, c.Err
		}
		return c.Val.(protocol.Usage), nil //nolint:forcetypeassert // measure returns it
	}
}

func (m *maintenance) measure(ctx context.Context) (protocol.Usage, error) {
	d := m.depot
	r, err := garbage.Collect(ctx, d.store, garbage.Options{DryRun: true, Grace: m.grace})
	if err != nil {
		return protocol.Usage{}, err
	}
	if err := d.usage.CountFiles(ctx); err != nil {
		return protocol.Usage{}, err
	}
	l := d.quota.Limits()
	u := protocol.Usage{MinFree: l.MinFree, BackupReserve: l.BackupReserve, Quota: l.Quota, NamespaceShare: l.NamespaceShare, Owners: []protocol.Amount{}}
	for kind, a := range r.Kinds {
		u.Kinds = append(u.Kinds, protocol.Amount{Name: kind.String(), Count: a.Count, Bytes: a.Bytes})
	}
	open, files := d.usage.Open()
	u.Kinds = append(u.Kinds, protocol.Amount{Name: "unreferenced", Count: r.Freed.Blobs, Bytes: r.Freed.Bytes}, open, files)
	for owner, a := range r.Owners {
		u.Owners = append(u.Owners, protocol.Amount{Name: owner, Count: a.Count, Bytes: a.Bytes, Limit: l.NamespaceShare})
	}
	for _, k := range u.Kinds {
		u.Bytes += k.Bytes
	}
	for _, all := range [][]protocol.Amount{u.Kinds, u.Owners} {
		slices.SortFunc(all, func(a, b protocol.Amount) int { return strings.Compare(a.Name, b.Name) })
	}
	free, ok, err := d.usage.Free()
	if err == nil && ok {
		u.Free = &free
	}
	return u, err
}
