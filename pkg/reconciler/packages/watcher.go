package packages

import (
	"context"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
	"knative.dev/pkg/logging"

	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/settings"
)

const (
	// wait is how long the depot may wait for a change before it answers. It allows up to five minutes.
	wait = 4 * time.Minute
	// firstPause doubles with each error in a row, up to longestPause.
	firstPause, longestPause = time.Second, 2 * time.Minute
	// shortestPoll is the shortest time between two requests, and idlePoll that between two without a change,
	// which only a depot or a proxy that does not wait causes.
	shortestPoll, idlePoll = time.Second, 15 * time.Second
	// grace is how long the depot may not answer before its list counts as unknown. A run that starts after
	// that would find no package.
	grace = 30 * time.Second
)

// Depot is the site's depot.
type Depot interface {
	// Packages returns the list if it differs from that with the ETag, and otherwise nil after some time.
	Packages(ctx context.Context, etag string, wait time.Duration) (*protocol.PackageList, string, error)
	Close()
}

// Watcher has the list of the packages. Use New.
type Watcher struct {
	connect func(context.Context, settings.Depot) (Depot, error)
	clock   clock.Clock
	// jitter shortens a pause, so that several controllers do not ask a depot that has just started at once.
	jitter func(time.Duration) time.Duration
	once   sync.Once
	// news wakes the goroutine that publishes lists.
	news chan struct{}

	mu    sync.Mutex
	depot settings.Depot
	moved chan struct{} // closed when depot changes
	// newest is the last list that was read, and list the one that counts; nil: not known. problem is why.
	newest, list *protocol.PackageList
	problem      string
	listeners    []func()
}

// New returns a watcher that begins with Start. It knows no depot before Follow.
func New() *Watcher { return newWatcher(connect, clock.RealClock{}, halfRandom) }

func newWatcher(connect func(context.Context, settings.Depot) (Depot, error), c clock.Clock, jitter func(time.Duration) time.Duration) *Watcher {
	return &Watcher{
		connect: connect, clock: c, jitter: jitter, news: make(chan struct{}, 1), moved: make(chan struct{}),
		problem: "the site has no depot: set depot-url in ConfigMap " + settings.Name + " of namespace " + settings.Namespace,
	}
}

func halfRandom(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }

// tokenFile has the controller's token for the depot. It does not exist on a site whose depot needs no
// token.
const tokenFile = "/var/run/secrets/bpa.akraino.org/depot/token"

func connect(ctx context.Context, site settings.Depot) (Depot, error) {
	o := client.Options{CA: []byte(site.CA)}
	if _, err := os.Stat(tokenFile); err == nil {
		o.TokenFile = tokenFile
	}
	return client.Connect(ctx, site.URL, o)
}

// Get returns the list that counts now; nil: it is not known because of the problem.
func (w *Watcher) Get() (list *protocol.PackageList, problem string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.list, w.problem
}

// Newest is like Get, but the list counts at once.
func (w *Watcher) Newest() (list *protocol.PackageList, problem string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.list == nil {
		return nil, w.problem
	}
	return w.newest, w.problem
}

// OnChange adds a function that is called after the result of Get has changed. It must not wait.
func (w *Watcher) OnChange(changed func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listeners = append(w.listeners, changed)
}

// Follow changes the depot. The list of the former one does not count any more.
func (w *Watcher) Follow(site settings.Depot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if site.URL == w.depot.URL && site.CA == w.depot.CA {
		return
	}
	w.depot, w.newest, w.list = site, nil, nil
	w.problem = "the list of the packages in the depot " + site.URL + " was not read yet"
	if site.URL == "" {
		w.problem = newWatcher(nil, nil, nil).problem
	}
	close(w.moved)
	w.moved = make(chan struct{})
	w.tell()
}

// Start begins to read lists, until ctx ends. Only the first call has an effect.
func (w *Watcher) Start(ctx context.Context) {
	w.once.Do(func() {
		go w.publish(ctx)
		go w.follow(ctx)
	})
}

// follow reads the lists of one depot after the other.
func (w *Watcher) follow(ctx context.Context) {
	for ctx.Err() == nil {
		w.mu.Lock()
		site, moved := w.depot, w.moved
		w.mu.Unlock()
		within, cancel := context.WithCancel(ctx)
		stop := make(chan struct{})
		go func() {
			defer close(stop)
			if site.URL != "" {
				w.poll(within, site)
			}
		}()
		select {
		case <-moved:
		case <-ctx.Done():
		}
		cancel()
		<-stop
	}
}

// poll reads the lists of one depot until ctx ends.
func (w *Watcher) poll(ctx context.Context, site settings.Depot) {
	pause, answered := firstPause, time.Time{}
	for ctx.Err() == nil {
		err := w.read(ctx, site, func() { pause, answered = firstPause, w.clock.Now() })
		if ctx.Err() != nil {
			return
		}
		w.failed(site, err, answered)
		logging.FromContext(ctx).Warnw("Cannot read the list of the depot's packages", "depot", site.URL, "error", err, "retry", pause.String())
		w.sleep(ctx, w.jitter(pause))
		pause = min(2*pause, longestPause)
	}
}

// read reads lists until an error. It calls answered after each answer.
func (w *Watcher) read(ctx context.Context, site settings.Depot, answered func()) error {
	depot, err := w.connect(ctx, site)
	if err != nil {
		return err
	}
	defer depot.Close()
	etag := ""
	for {
		begun := w.clock.Now()
		list, next, err := depot.Packages(ctx, etag, wait)
		if err != nil {
			return err
		}
		answered()
		w.received(site, list)
		etag = next
		switch took := w.clock.Since(begun); {
		case took >= shortestPoll:
		case list == nil:
			w.sleep(ctx, idlePoll)
		default:
			w.sleep(ctx, shortestPoll)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

func (w *Watcher) sleep(ctx context.Context, d time.Duration) {
	timer := w.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-ctx.Done():
	}
}

// received stores a list, which counts later; nil: it has not changed. A first list, or the first after a
// problem, counts at once.
func (w *Watcher) received(site settings.Depot, list *protocol.PackageList) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if site != w.depot {
		return
	}
	if list != nil {
		w.newest = list
	}
	switch {
	case w.newest == nil:
	case w.list == nil:
		w.list, w.problem = w.newest, ""
		w.tell()
	case list != nil:
		select {
		case w.news <- struct{}{}:
		default: // the goroutine was not woken yet
		}
	}
}

// failed makes the list unknown if the depot has not answered for some time.
func (w *Watcher) failed(site settings.Depot, err error, answered time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if site != w.depot || w.clock.Since(answered) < grace {
		return
	}
	problem := "the list of the depot's packages cannot be read: " + err.Error()
	if w.list == nil && withoutNumbers(w.problem) == withoutNumbers(problem) {
		return
	}
	w.list, w.problem = nil, problem
	w.tell()
}

// withoutNumbers removes what differs from error to error, such as the ports of connections.
func withoutNumbers(text string) string {
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return -1
		}
		return r
	}, text)
}

// tell calls the listeners, which may call Get. The caller holds the lock.
func (w *Watcher) tell() {
	for _, changed := range w.listeners {
		go changed()
	}
}
