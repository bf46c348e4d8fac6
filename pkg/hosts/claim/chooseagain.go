package claim

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/akraino-icn/bpa/pkg/hosts"
)

const (
	// maxRechoices limits how often one attempt chooses other hosts. At this limit, the attempt
	// fails and all its hosts are given back.
	maxRechoices = 8
	// rereadAfter is the number of losses after which all hosts are listed again. By then, the
	// snapshot is outdated, and reading it again costs less than further losses.
	rereadAfter = 4
	// backoff is about the time that another claimant needs to finish its work.
	backoff = 100 * time.Millisecond
	// strictOrderAfter is the number of failed attempts after which a claimant takes hosts strictly
	// in the order of their names, even if it then finds too few hosts.
	strictOrderAfter = 2
)

// loss describes a host that another client claimed first.
type loss struct {
	at        string // name of the host
	times     int    // number of earlier losses in this attempt
	ascending bool   // reports that no host up to this name may be taken any more
}

// chooseAgain makes a new decision after a loss. It keeps the hosts that are already claimed. For
// hosts that this attempt has read or written since the snapshot, it uses the newer data. From the
// second loss on, it waits first, so that other claimants can finish. Among equal hosts, it does
// not begin with the name after the lost host, because the other claimant will probably take that
// host next.
func (c *claimant) chooseAgain(ctx context.Context, d decision, lost loss) (decision, error) {
	w, err := d.snapshot, error(nil)
	if lost.times > 0 {
		if err := pause(ctx, time.Duration(lost.times)*backoff); err != nil {
			return d, err
		}
	}
	if (lost.times+1)%rereadAfter == 0 {
		if w, err = c.read(ctx, recent); err != nil {
			return d, err
		}
	}
	w = c.update(w)
	if lost.ascending {
		w.excludeUpTo(lost.at, c.me)
	}
	c.first = c.startHost(w)
	next, err := c.assign(ctx, w)
	if err != nil {
		return d, fmt.Errorf("%w (host %s), and the choice without it failed: %w", errLost, lost.at, err)
	}
	return next, nil
}

// startHost returns the name of the host with which the choice among equal hosts begins. It depends
// on the name of the owner, so that competing claimants begin with different hosts.
func (c *claimant) startHost(w snapshot) string {
	if len(w.facts) == 0 {
		return ""
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(c.me.Name))
	return w.facts[int(sum.Sum32()%uint32(len(w.facts)))].Name
}

// excludeUpTo marks each host whose name is not after last as unusable, unless the owner holds the
// host.
func (w *snapshot) excludeUpTo(last string, me hosts.Owner) {
	for i := range w.facts {
		if h := &w.facts[i]; h.Name <= last && h.Unusable == "" && !me.Holds(*h) {
			h.Unusable = "contested by others"
		}
	}
}
