package plan

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/change"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/health"
	"github.com/akraino-icn/bpa/pkg/software"
)

// Softwares are what is known about the Softwares of a cluster and about their runs.
type Softwares struct {
	// Wanted are the packages that the Softwares request, with the versions and files of the depot. A
	// package whose version is not known, because the depot does not answer, has a Problem.
	Wanted []contract.Software
	// Record is what the tasks have stored. Asked is the value of contract.AnnotationSoftware.
	Record contract.SoftwareRecord
	Asked  string
	// Answered is the last value of Asked that needs no other run, as the status has it: the record does not have
	// a request whose run has failed before it has looked at the nodes.
	Answered string
	// Runs are the runs of contract.OperationSoftware, oldest first. They are not in Seen.Runs: they change
	// neither the members of the cluster nor its kubeconfig, so their results decide about no other run.
	Runs []Run
	// Started is what the newest of these runs was to do; nil: not known. KeyChanged is like
	// Seen.KeyChanged, for this run.
	Started    *contract.SoftwareRun
	KeyChanged bool
	// Ends is the run that is asked to end after its batch; empty: none was.
	Ends string
}

// Newest returns the newest run of a Software; nil before the first one.
func (s Softwares) Newest() *Run {
	if len(s.Runs) == 0 {
		return nil
	}
	return &s.Runs[len(s.Runs)-1]
}

// softwareActive reports whether a run for Softwares is active.
func (s Seen) softwareActive() bool {
	newest := s.Software.Newest()
	return newest != nil && newest.State == Active
}

// none reports whether nothing was ever requested or installed.
func (s Softwares) none() bool {
	return len(s.Wanted)+len(s.Runs) == 0 && !slices.ContainsFunc(s.Record.Nodes, func(n contract.SoftwareNode) bool { return len(n.Packages) > 0 })
}

// softwareRun is the next run for the Softwares of a cluster.
type softwareRun struct {
	changes []software.Change
	inputs  string
	attempt int32
	// waits is why the run does not start now. now means that it may start.
	waits string
	now   bool
	// after is the time until the next look; 0: none is needed.
	after time.Duration
}

func (r softwareRun) String() string { return software.Text(r.changes) }

// nextSoftware returns the next run for the Softwares. It has no changes if the nodes have what is
// requested, or if the nodes are not known.
func (s Seen) nextSoftware(now time.Time) softwareRun {
	if s.Memory == nil || !s.Complete() || s.Deleting {
		return softwareRun{}
	}
	changes, again := software.Due(s.Software.Wanted, s.Present(), s.softwareRecord(), s.aliveSince, s.Software.Asked, now)
	next := softwareRun{changes: changes, inputs: s.softwareInputs(), attempt: 1}
	if again.After(now) {
		next.after = again.Sub(now)
	}
	if len(changes) == 0 {
		if !s.softwareAnswered() && s.noneAlive() {
			next.waits = "no node is alive. The requested run starts when a node of the cluster is Ready again"
		}
		return next
	}
	if next.waits = cmp.Or(s.softwareBlocked(now), s.drainBlocked(changes)); next.waits == "" {
		s.paceSoftware(&next, now)
	}
	return next
}

// softwareRecord returns the record for the next run. Its Asked is empty while the request of a user is open. A run
// answers a request when it has looked at the nodes, so that the request has no effect on changes that come later.
// The next attempts of a failed run still have it.
func (s Seen) softwareRecord() contract.SoftwareRecord {
	record := s.Software.Record
	record.Asked = ""
	if s.softwareAnswered() {
		record.Asked = s.Software.Asked
	}
	return record
}

// softwareAnswered reports whether the request of a user needs no run any more: a run has looked at the nodes for
// it, its last attempt has failed, or the nodes have nothing to look at.
func (s Seen) softwareAnswered() bool {
	asked, newest := s.Software.Asked, s.Software.Newest()
	if asked == s.Software.Answered || s.nothingToLookAt() {
		return true
	}
	if newest != nil && newest.Asked == asked && s.endedEarly(*newest) {
		return false
	}
	if newest == nil || newest.State != Failed || newest.Asked != asked {
		return asked == s.Software.Record.Asked
	}
	if _, again := s.softwareRetry(*newest, softwareRun{}); !again {
		return true
	}
	return asked == s.Software.Record.Asked && newest.Inputs != s.softwareInputs()
}

// nothingToLookAt reports whether no node of the cluster has a package, and none is to have one.
func (s Seen) nothingToLookAt() bool {
	return !slices.ContainsFunc(s.Present(), func(n contract.Node) bool {
		return len(s.Software.Record.Of(n).Packages) > 0 || slices.ContainsFunc(s.Software.Wanted, func(w contract.Software) bool { return w.On(n.Roles) })
	})
}

// noneAlive reports whether no node of the cluster is alive. A run for a request waits for the first one.
func (s Seen) noneAlive() bool {
	return !slices.ContainsFunc(s.Present(), func(n contract.Node) bool {
		_, alive := s.aliveSince(n)
		return alive
	})
}

// Present returns the nodes of the cluster that are not lost.
func (s Seen) Present() []contract.Node {
	return slices.DeleteFunc(slices.Clone(s.members()), func(n contract.Node) bool {
		return slices.ContainsFunc(s.losses(), func(l Loss) bool { return l.Node.Name == n.Name && !l.Node.Standby })
	})
}

// aliveSince reports whether the node is not known to be down, and since when it is Ready, if that is known.
func (s Seen) aliveSince(n contract.Node) (time.Time, bool) {
	if s.Health == nil || s.Health.Unchecked != "" {
		return time.Time{}, true
	}
	seen := s.Health.Nodes[n.Name]
	if undecided(seen) {
		return time.Time{}, true
	}
	return seen.Since, seen.State == health.NodeReady
}

// softwareInputs identifies what the Softwares and the spec request. If it changes, the attempts begin anew.
func (s Seen) softwareInputs() string {
	sum := sha256.New()
	_, _ = fmt.Fprintf(sum, "%s\n%s\n", s.Inputs, s.Software.Asked) // a hash returns no error
	for _, w := range s.Software.Wanted {
		_, _ = fmt.Fprintf(sum, "%q %q %t %t %t %s\n", w.Name, contract.SoftwareIntent(w), w.ControlPlanes, w.Workers, w.Hold, w.Disruption)
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// softwareBlocked returns why no run for Softwares starts at all; empty: one may start.
func (s Seen) softwareBlocked(now time.Time) string {
	for _, rule := range []func(Seen, time.Time) (Step, bool){settings, invalid, depot, leftovers, controlPlaneLost, paused, sshKey} {
		if step, ok := rule(s, now); ok {
			return step.Message
		}
	}
	if s.Health != nil && s.Health.API == health.APISilent {
		return "the API server of the cluster does not answer: " + s.Health.Text
	}
	return ""
}

// paceSoftware decides when the run starts, and which attempt it is. A failed run is repeated as every other
// one. After a run that has succeeded, its nodes have time, because the cache may not show yet what the run has
// done. Other nodes do not wait for them.
func (s Seen) paceSoftware(next *softwareRun, now time.Time) {
	newest := s.Software.Newest()
	if newest == nil || !s.sameSoftware(*newest) {
		next.now = true
		return
	}
	at, again := s.softwareRetry(*newest, *next)
	if next.attempt = newest.Attempt + 1; newest.State == Failed && (costless(*newest, Classify(*newest).Reason) || s.cutShort(*newest)) || s.endedEarly(*newest) {
		next.attempt = newest.Attempt
	}
	switch {
	case !again:
		next.waits = "run " + newest.Name + " failed, and a user must act"
	case at.After(now):
		next.after = at.Sub(now)
		next.waits = "the next run starts at " + at.UTC().Format(time.RFC3339)
	default:
		next.now = true
	}
}

// softwareRetry returns when the run that follows the newest one for the same packages may start.
func (s Seen) softwareRetry(newest Run, next softwareRun) (time.Time, bool) {
	if len(missedNodes(newest)) > 0 {
		return time.Time{}, false
	}
	if newest.State == Failed {
		only, cause := s, Classify(newest)
		only.Runs = s.Software.Runs
		if cause.Reason == contract.ReasonTimeout { // the record has what is done, so the next run continues
			return newest.Completed.Add(pause(newest.Attempt)), newest.Attempt < s.Limits.Attempts || s.cutShort(newest)
		}
		return retryAt(only, newest, cause)
	}
	if s.endedEarly(newest) {
		return time.Time{}, true
	}
	if was := s.Software.Started; was != nil && slices.ContainsFunc(next.changes, func(c software.Change) bool { return c.Node != "" && !slices.Contains(was.Nodes, c.Node) }) {
		return time.Time{}, true
	}
	return newest.Completed.Add(pause(newest.Attempt)), true
}

// cutShort reports whether the time limit has ended the run while it made progress: it has installed a package, so that the
// next run has less to do. This is no attempt that counts: a hundred nodes that reboot need many runs.
func (s Seen) cutShort(r Run) bool {
	return r.State == Failed && Classify(r).Reason == contract.ReasonTimeout && slices.ContainsFunc(s.Software.Record.Nodes, func(n contract.SoftwareNode) bool {
		return slices.ContainsFunc(n.Packages, func(p contract.SoftwarePackage) bool {
			return p.State == contract.SoftwareInstalled && p.Since.After(r.Started)
		})
	})
}

// sameSoftware reports whether the run was for the packages that are requested now, and no user has requested
// another attempt since.
func (s Seen) sameSoftware(r Run) bool {
	return r.Inputs == s.softwareInputs() && !s.Software.KeyChanged && (s.Retry == "" || r.Retry == s.Retry)
}

// withSoftware replaces the step of a cluster in which nothing else is to be done by the start of a run for its
// Softwares. These runs are the last of all changes.
func withSoftware(s Seen, idle Step, now time.Time) Step {
	if !s.idle(idle) {
		return idle
	}
	next := s.nextSoftware(now)
	switch {
	case !next.now:
		if next.after > 0 && (idle.After == 0 || next.after < idle.After) {
			idle.After = next.after
		}
		return idle
	case s.SSH == nil: // not checked: a run must not start without the check
		idle.After = recheck
		return idle
	}
	step := Step{
		Do: StartRun, Reason: ReasonStarting, Operation: contract.OperationSoftware, Number: s.nextNumber(), Attempt: next.attempt,
		Inputs: next.inputs, Request: change.Software(s.State()).Request, Idle: &idle,
		Message: fmt.Sprintf("starting attempt %d to %s", next.attempt, next),
	}
	rollout := s.rollout()
	step.Request.Plugins = nil
	step.Request.Software = software.ForRun(s.Software.Wanted, next.changes, s.Software.Asked, rollout.MaxUnavailable, rollout.DrainSeconds)
	return step
}

// idle reports whether the step shows that nothing else is to be done in a complete cluster. Plugins that
// have failed for good do not keep packages from being updated.
func (s Seen) idle(step Step) bool {
	if step.Do != Stay || s.Deleting || len(s.ActiveRuns()) > 0 {
		return false
	}
	if step.Reason == ReasonInstalled {
		return true
	}
	newest := s.Newest()
	if _, changes := s.nextChange(); changes || newest == nil || newest.State != Failed || !newest.built() || !s.Complete() || s.upgradeWaiting() != "" {
		return false
	}
	return step.After == 0 && step.Message == "" && step.Reason == string(Classify(*newest).Reason)
}

// softwareForNew returns the packages for the new machines of a run; nil: the run has none, or no packages
// are requested.
func (s Seen) softwareForNew(operation string) *contract.SoftwareRun {
	if len(s.Software.Wanted) == 0 || !contract.OperationOf(operation).AddsNodes() {
		return nil
	}
	return software.ForRun(s.Software.Wanted, nil, "", 1, seconds(s.Limits.UpgradeDrain))
}

// nextNumber returns the number of the next run of any operation. It goes on after the runs in the status, which may
// have been deleted: two runs of one name would look like one.
func (s Seen) nextNumber() int32 { return max(s.LastNumber(), s.Numbered) + 1 }

// LastNumber returns the number of the newest run of any operation that exists; 0: there is none.
func (s Seen) LastNumber() int32 {
	if last := s.Last(); last != nil {
		return last.Number
	}
	return 0
}

// Last returns the newest run of any operation; nil before the first run.
func (s Seen) Last() *Run {
	newest, other := s.Newest(), s.Software.Newest()
	switch {
	case newest == nil:
		return other
	case other == nil || other.Number < newest.Number:
		return newest
	}
	return other
}

// shownRun returns the run that the status shows: an active one of a Software, or the newest one that has
// changed the cluster.
func (s Seen) shownRun() *Run {
	other := s.Software.Newest()
	if newest := s.Newest(); newest != nil && (other == nil || other.State != Active) {
		return newest
	}
	return other
}

// softwareWorksOn reports whether an active run for Softwares may make the node unavailable.
func (s Seen) softwareWorksOn(n contract.Node) bool {
	return s.Software.Started == nil || slices.Contains(s.Software.Started.Nodes, n.Name)
}

// waitingSoftware returns why the next run for the Softwares does not start, with the chosen step.
func (s Seen) waitingSoftware(next softwareRun, step Step, err error) string {
	switch {
	case err != nil && step.Operation == contract.OperationSoftware:
		return cmp.Or(strings.TrimSpace(err.Error()), "the run could not be created")
	case step.Operation == contract.OperationSoftware, step.Do == Prune, step.Do == StoreKubeconfig: // it starts now, or right after that
		return ""
	case step.Place > 0:
		return step.Message
	case !s.Complete() || s.Memory == nil:
		return "the cluster is not installed yet"
	case !s.idle(step):
		return cmp.Or(step.Message, "another change of the cluster comes first: "+step.Reason)
	}
	return next.waits
}
