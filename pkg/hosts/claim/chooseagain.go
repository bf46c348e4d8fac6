package claim

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/akraino-icn/bpa/pkg/hosts"
)

const (
	// maxRechoices limits how often one attempt chooses other hosts before it gives back all of
	// them.
	maxRechoices = 8
	// rereadAfter is the number of losses after which all hosts are listed again. By then, so much
	// of the snapshot is outdated that this costs less than further losses.
	rereadAfter = 4
	// backoff is about the time in which other claimants complete their work.
	backoff = 100 * time.Millisecond
	// strictOrderAfter is the number of failed attempts after which a claimant keeps strictly to
	// the order of names, even if it fails for this reason.
	strictOrderAfter = 2
)

// loss describes a host that another client claimed first.
type loss struct {
	at        string // name of the host
	times     int    // earlier losses of this attempt
	ascending bool   // hosts up to this one must not be taken any more
}

// chooseAgain decides again after a loss. It keeps the claimed hosts and the knowledge about single
// hosts. After a second loss it waits, so that other claimants can finish. Among equal hosts it
// does not choose the next name, because the other claimant will probably take that host.
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

// startHost returns the name of a host at which to start among equal hosts. It depends on the name
// of the owner.
func (c *claimant) startHost(w snapshot) string {
	if len(w.facts) == 0 {
		return ""
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(c.me.Name))
	return w.facts[int(sum.Sum32()%uint32(len(w.facts)))].Name
}

// excludeUpTo marks the hosts with names up to last as unusable, except those of the owner.
func (w *snapshot) excludeUpTo(last string, me hosts.Owner) {
	for i := range w.facts {
		if h := &w.facts[i]; h.Name <= last && h.Unusable == "" && !me.Holds(*h) {
			h.Unusable = "contested by others"
		}
	}
}
