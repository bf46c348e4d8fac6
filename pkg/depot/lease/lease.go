package lease

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"

	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// path is the path of the lease object in the bucket.
const path = "/depot/lease"

const (
	// timeToLive is the time for which a lease is valid after a renewal.
	timeToLive = time.Minute
	// renewal is the time between two renewals.
	renewal = timeToLive / 4
	// margin is the time before the end of the lease in which the holder starts no more writes,
	// since a write in progress may take that long.
	margin = timeToLive / 4
	// contestDelay is how long a depot waits after it has written the object, before it checks
	// whether another depot has written it too.
	contestDelay = 2 * time.Second
)

// note is the content of the lease object.
type note struct {
	// Owner is the id of a depot, which does not change when the depot restarts.
	Owner string `json:"owner"`
	// Process is different for each process that takes the lease. The owner alone is not enough,
	// since a copy of a depot has the same id.
	Process string `json:"process"`
	Host    string `json:"host"`
	// Renewed is the time of the renewal by the holder's clock, for users who read the object.
	Renewed time.Time `json:"renewed"`
	// Mark is different in each write, so that another depot notices a renewal.
	Mark string `json:"mark"`
}

// HeldError means that another depot uses the bucket.
type HeldError struct{ Host, Owner string }

func (e *HeldError) Error() string {
	return fmt.Sprintf("the bucket is in use by another depot (id %s on host %s), which has just renewed its lease; two depots would damage each other's uploads. "+
		"Give this depot another --s3-prefix, or stop the other depot, which frees the bucket at once. If the other machine is dead, start this depot again: it takes over when the lease was not renewed for %s", e.Owner, e.Host, timeToLive)
}

// Lease is the right to write to a bucket.
type Lease struct {
	driver      storagedriver.StorageDriver
	owner, host string
	process     string
	clock       clock
	// renewLimit is the longest time that the storage may take for one renewal.
	renewLimit time.Duration

	mu      sync.Mutex
	renewed time.Time
	// lost is set when another depot has taken the lease.
	lost error
}

// clock returns the time and waits. Tests replace it.
type clock interface {
	Now() time.Time
	Wait(ctx context.Context, d time.Duration) error
}

type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) Wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// Take takes the lease for owner. If another depot holds the lease, Take watches it for timeToLive
// and returns a HeldError if that depot renews it. A depot that held the lease on the same host
// before, and was killed, gets it back at once.
func Take(ctx context.Context, driver storagedriver.StorageDriver, owner, host string) (*Lease, error) {
	return take(ctx, driver, owner, host, realClock{})
}

func take(ctx context.Context, driver storagedriver.StorageDriver, owner, host string, c clock) (*Lease, error) {
	l := &Lease{driver: driver, owner: owner, host: host, process: rand.Text(), clock: c, renewLimit: renewal}
	held, there, err := l.read(ctx)
	if err != nil {
		return nil, err
	}
	mine := there && held.Owner == owner && held.Host == host
	if there && !mine {
		if err := l.watch(ctx, held); err != nil {
			return nil, err
		}
	}
	if err := l.write(ctx); err != nil {
		return nil, err
	}
	if mine {
		return l, nil
	}
	if err := c.Wait(ctx, contestDelay); err != nil {
		return nil, err
	}
	return l, l.renew(ctx)
}

// watch waits until the lease of another depot has ended. It returns a HeldError if that depot
// renews the lease.
func (l *Lease) watch(ctx context.Context, held note) error {
	for began := l.clock.Now(); l.clock.Now().Sub(began) < timeToLive; {
		if err := l.clock.Wait(ctx, renewal/4); err != nil {
			return err
		}
		now, there, err := l.read(ctx)
		if err != nil {
			return err
		}
		if !there {
			return nil
		}
		if now.Mark != held.Mark {
			return &HeldError{now.Host, now.Owner}
		}
	}
	return nil
}

func (l *Lease) read(ctx context.Context) (n note, there bool, err error) {
	body, err := l.driver.GetContent(ctx, path)
	if store.IsAbsent(err) {
		return n, false, nil
	}
	if err != nil {
		return n, false, fmt.Errorf("read the bucket's lease %s: %w", path, err)
	}
	if err := json.Unmarshal(body, &n); err != nil {
		return n, false, fmt.Errorf("the bucket's lease %s is damaged: remove that object if no other depot uses the bucket: %w", path, err)
	}
	return n, true, nil
}

func (l *Lease) write(ctx context.Context) error {
	began := l.clock.Now() // the time before the write, since the write may take long
	body, err := json.Marshal(note{l.owner, l.process, l.host, began.UTC(), rand.Text()})
	if err != nil {
		return err
	}
	if err := l.driver.PutContent(ctx, path, body); err != nil {
		return fmt.Errorf("write the bucket's lease %s: %w", path, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewed = began
	return nil
}

func (l *Lease) wrote(n note) bool { return n.Owner == l.owner && n.Process == l.process }

// renew writes the object again, unless another depot has written it.
func (l *Lease) renew(ctx context.Context) error {
	n, there, err := l.read(ctx)
	if err != nil {
		return err
	}
	if there && !l.wrote(n) {
		err := &HeldError{n.Host, n.Owner}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lost = err
		return err
	}
	return l.write(ctx)
}

// Held returns nil while this depot may write, and otherwise the reason why it may not.
func (l *Lease) Held() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost != nil {
		return l.lost
	}
	if l.clock.Now().Sub(l.renewed) > timeToLive-margin {
		return fmt.Errorf("the bucket's lease could not be renewed since %s: check the S3 server", l.renewed.UTC().Format(time.RFC3339))
	}
	return nil
}

// Keep renews the lease until ctx ends, or until another depot has taken it; it returns a HeldError
// in that case. It passes errors of the storage to report and tries again.
func (l *Lease) Keep(ctx context.Context, report func(error)) error {
	for {
		if err := l.clock.Wait(ctx, renewal); err != nil {
			return nil //nolint:nilerr // the caller has ended ctx
		}
		soon, cancel := context.WithTimeout(ctx, l.renewLimit)
		err := l.renew(soon)
		cancel()
		l.mu.Lock()
		lost := l.lost
		l.mu.Unlock()
		if lost != nil {
			return lost
		}
		if err != nil && ctx.Err() == nil {
			report(err)
		}
	}
}

// Release removes the lease, so that another depot can take it at once.
func (l *Lease) Release(ctx context.Context) error {
	n, there, err := l.read(ctx)
	if err != nil || !there || !l.wrote(n) {
		return err
	}
	return l.driver.Delete(ctx, path)
}
