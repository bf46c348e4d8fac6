package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/runs/tekton"
)

// slowStop is the time after which a run that has not stopped is unusual. Kubernetes gives a pod 30
// seconds to end.
const slowStop = time.Minute

// followCancel shows what has not ended of the runs, until all of it has.
func (s *session) followCancel(ctx context.Context, site *site, cluster string, runs []string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watch, err := site.watchWork(ctx, cluster)
	if err != nil {
		return err
	}
	out, progress := newDisplay(s.Out), &cancelReporter{start: s.now(), slow: site.whyItLasts()}
	defer out.close()
	tick := time.NewTicker(time.Second) // the display shows the elapsed time
	defer tick.Stop()
	for {
		if all, known := watch.now(); known {
			left := all.unfinished(runs)
			out.show(progress.next(all, left, s.now()))
			if len(left) == 0 {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-watch.failed:
			return site.explain(err)
		case <-watch.changed:
		case <-tick.C:
		}
	}
}

// cancelReporter converts each new state of the work to an update.
type cancelReporter struct {
	start  time.Time
	left   []worker // in the last state
	slow   string   // what to do if the work does not end
	warned bool
}

func (c *cancelReporter) next(all work, left []worker, now time.Time) update {
	u := update{Elapsed: max(now.Sub(c.start), 0).Truncate(time.Second), Percent: -1}
	for _, before := range c.left {
		if !slices.Contains(left, before) {
			u.Notes = append(u.Notes, before.String()+" has ended"+howEnded(all, before))
		}
	}
	c.left = left
	if len(left) == 0 {
		return u
	}
	if u.Elapsed >= slowStop && !c.warned {
		c.warned = true
		u.Notes = append(u.Notes, c.slow)
	}
	var names []string
	for _, l := range left {
		names = append(names, l.String())
	}
	u.Text = "waiting for the end of " + strings.Join(names, ", ")
	return u
}

// howEnded returns the result of a PipelineRun, and nothing for other objects.
func howEnded(all work, ended worker) string {
	i := slices.IndexFunc(all.runs, func(r *tekton.PipelineRun) bool { return ended.kind == "PipelineRun" && r.Name == ended.name })
	if i < 0 {
		return ""
	}
	if c := all.runs[i].Status.GetCondition(apis.ConditionSucceeded); c != nil {
		return ": " + clean(c.Reason)
	}
	return ""
}

// whyItLasts tells what to do if a run does not stop. Only Tekton can end runs and their pods.
func (s *site) whyItLasts() string {
	return fmt.Sprintf("If this lasts, check that Tekton's controller runs: `kubectl get pods -n tekton-pipelines%s`. "+
		"To end a pod on a machine that does not come back: `%s`", s.flags, s.kubectl("delete pod POD", "--force"))
}
