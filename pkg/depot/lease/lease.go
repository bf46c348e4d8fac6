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

// path of the object in the bucket.
const path = "/depot/lease"

const (
	// timeToLive is how long a lease lasts without being renewed.
	timeToLive = time.Minute
	// renewal is how often it is renewed.
	renewal = timeToLive / 4
	// margin is how long before its end the holder stops to rely on it: a write
	// under way may take so long.
	margin = timeToLive / 4
	// contestDelay is how long one who has written the object waits before looking
	// whether another has done the same.
	contestDelay = 2 * time.Second
)

// note is what is in the object.
type note struct {
	// Owner is the id of a depot, which stays over restarts.
	Owner string `json:"owner"`
	// Process differs for each that takes it: a copy of a depot has its id.
	Process string `json:"process"`
	Host    string `json:"host"`
	// Renewed is for people, too, and by the holder's clock.
	Renewed time.Time `json:"renewed"`
	// Mark differs in each write.
	Mark string `json:"mark"`
}

// HeldError says that another depot uses the bucket.
type HeldError struct{ Host, Owner string }

func (e *HeldError) Error() string {
	return fmt.Sprintf("the bucket is in use by another depot (id %s on host %s), which has just renewed its lease: two would damage each other's uploads. "+
		"Give this one another --s3-prefix, or stop that one, which frees the bucket at once; if its machine is dead, start this one again: it takes over when nobody has renewed the lease for %s", e.Owner, e.Host, timeToLive)
}

// Lease is the right to write to a bucket.
type Lease struct {
	driver      storagedriver.StorageDriver
	owner, host string
	process     string
	clock       clock
	// renewLimit is how long the storage may take for one renewal.
	renewLimit time.Duration

	mu      sync.Mutex
	renewed time.Time
	// lost is set when another depot has taken it.
	lost error
}

// clock is the time, which tests make pass.
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

// Take makes owner the holder. If another one is, it watches for as long as a
// lease lasts: a HeldError says that the other is alive. Who held it before on the
// same host, and was killed, has it again at once.
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

// watch waits until the lease of another has ended.
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
	began := l.clock.Now() // it may take long
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

// renew writes the object again, unless another depot has.
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

// Held is nil while this depot may write, and else says why not.
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

// Keep renews the lease until ctx ends or another depot has taken it, which is
// what its error says. Errors of the storage go to report, and are tried again.
func (l *Lease) Keep(ctx context.Context, report func(error)) error {
	for {
		if err := l.clock.Wait(ctx, renewal); err != nil {
			return nil //nolint:nilerr // it was told to end
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

// Release lets another depot have the bucket at once.
func (l *Lease) Release(ctx context.Context) error {
	n, there, err := l.read(ctx)
	if err != nil || !there || !l.wrote(n) {
		return err
	}
	return l.driver.Delete(ctx, path)
}
