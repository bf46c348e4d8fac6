package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/ssh"
)

const (
	// bootLimit is the default time in which a machine boots after Metal3 has written its image.
	bootLimit = 10 * time.Minute
	// answerLimit is the default time in which a machine must answer before a reset or a removal
	// leaves it out.
	answerLimit = time.Minute
	// firstPause and LongestPause bound the time between two attempts to connect to a node.
	firstPause, LongestPause = 250 * time.Millisecond, 10 * time.Second
	// logEvery is the time between two lines of the log about nodes that do not answer.
	logEvery = 30 * time.Second
)

// wait returns how long the task waits for nodes that do not answer.
func (in Input) wait() time.Duration {
	switch {
	case in.BootLimit > 0:
		return in.BootLimit
	case in.Playbook == contract.PlaybookReset, in.Playbook == contract.PlaybookRemove:
		return answerLimit
	case in.Request.OSImage != nil:
		return bootLimit
	}
	return 0
}

// patience returns a function that reports whether the task waits until a node answers. A node that
// has answered in an earlier run is not booting for the first time, so an installation does not
// wait for it.
func (c Contact) patience(in Input) func(contract.Node) bool {
	return func(n contract.Node) bool {
		return in.Playbook == contract.PlaybookReset || in.Playbook == contract.PlaybookRemove || c.States[n.HostUID] != contract.HostUsed
	}
}

// VisitAll visits all nodes in parallel. Nodes that do not answer are visited again, with growing
// pauses, as long as in.wait allows it and patient returns true.
func VisitAll(ctx context.Context, in Input, log io.Writer, patient func(contract.Node) bool, do func(contract.Node) Visit) []Visit {
	visits := make([]Visit, len(in.Nodes))
	pending := make([]int, len(in.Nodes))
	for i := range pending {
		pending[i] = i
	}
	started, logged := time.Now(), time.Time{}
	for pause := firstPause; ; pause = min(2*pause, LongestPause) {
		Each(len(pending), func(k int) { visits[pending[k]] = do(in.Nodes[pending[k]]) })
		var silent []int
		for _, i := range pending {
			if IsSilent(visits[i].Err) && patient(in.Nodes[i]) {
				silent = append(silent, i)
			}
		}
		pending = silent
		waited := time.Since(started)
		if len(pending) == 0 || waited+pause > in.wait() || ctx.Err() != nil {
			return visits
		}
		if time.Since(logged) >= logEvery {
			logged = time.Now()
			logSilent(in, visits, pending, waited, log)
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return visits
		}
	}
}

// IsSilent reports whether an error means that nothing answers, so that a later attempt may succeed.
func IsSilent(err error) bool {
	var changed *ssh.KeyChangedError
	return errors.Is(err, ssh.ErrUnreachable) && !errors.As(err, &changed) && !errors.Is(err, ssh.ErrDenied)
}

func logSilent(in Input, visits []Visit, pending []int, waited time.Duration, log io.Writer) {
	names := make([]string, len(pending))
	for k, i := range pending {
		names[k] = in.Nodes[i].Name
	}
	fmt.Fprintf(log, "Waiting for %s to answer (%s of %s): %s; %s: %v\n", Count(len(pending), "node"),
		waited.Round(time.Second), in.wait(), strings.Join(names, ", "), names[0], visits[pending[0]].Err)
}
