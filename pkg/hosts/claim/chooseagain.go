package claim

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/akraino-icn/bpa/pkg/hosts"
)

const (
	// maxRechoices bounds how often one attempt turns to other hosts before it gives all back.
	maxRechoices = 8
	// rereadAfter is after how many losses what is known is so old that to read all hosts again costs less than to find out one by one.
	rereadAfter = 4
	// backoff is about how long others take to get done with what they are at.
	backoff = 100 * time.Millisecond
	// strictOrderAfter is after how many failed attempts a claimant keeps strictly to the order of names, even if it then fails where it need not.
	strictOrderAfter = 2
)

// contested says how a host was lost to somebody faster.
type contested struct {
	at     string // the host
	times  int    // losses of this attempt before
	upward bool   // hosts before this one are not to be taken any more
}

// chooseAgain decides again after a loss. It keeps what it has, and what it knows. Who loses again lets the others get done first. Of equal hosts it
// turns to others than the next by name, which whoever was faster is about to take.
func (c *claimant) chooseAgain(ctx context.Context, d decision, lost contested) (decision, error) {
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
	if lost.upward {
		w.close(lost.at, c.me)
	}
	c.first = c.aside(w)
	next, err := c.assign(ctx, w)
	if err != nil {
		return d, fmt.Errorf("%w at host %s, and without it: %w", errLost, lost.at, err)
	}
	return next, nil
}

// aside is a host to begin with, another for each owner.
func (c *claimant) aside(w snapshot) string {
	if len(w.facts) == 0 {
		return ""
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(c.me.Name))
	return w.facts[int(sum.Sum32()%uint32(len(w.facts)))].Name
}

// close leaves of the hosts that come no later than the one of this name only our own.
func (w *snapshot) close(last string, me hosts.Owner) {
	for i := range w.facts {
		if h := &w.facts[i]; h.Name <= last && h.Unusable == "" && !me.Holds(*h) {
			h.Unusable = "contested"
		}
	}
}
