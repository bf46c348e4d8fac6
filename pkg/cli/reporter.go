package cli

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// reporter converts each new state of one Provisioning to an update. It remembers the facts that it
// has reported, so that it reports each fact once.
type reporter struct {
	reported map[string]string
}

// update is what a new state of the Provisioning adds to the output.
type update struct {
	// Elapsed is the time since the start of the run, or noRun if there is no run.
	Elapsed time.Duration
	// Notes holds milestones, one line each.
	Notes []string
	// Percent and Text describe the current step. Percent is -1 if the step has no percentage. Text
	// is empty after the end.
	Percent int
	Text    string
}

func newReporter() *reporter { return &reporter{reported: map[string]string{}} }

// next returns the update for the next state.
func (s *reporter) next(p *v1alpha1.Provisioning, now time.Time) update {
	c := update{Elapsed: elapsed(p, now), Percent: -1}
	over := verdictOf(p) != underway
	if run := p.Status.Run; run != nil && s.fresh("run", run.Name) {
		c.Notes = append(c.Notes, fmt.Sprintf("%s, attempt %d: PipelineRun %s", run.Operation, run.Attempt, run.Name))
	}
	for _, cond := range inOrder(p.Status.Conditions) {
		note, news := s.condition(cond)
		// A condition that only repeats the failure gives no note. The failure is reported with its
		// details: in retryNote if another attempt follows, otherwise at the end of the command.
		repeats := cond.IsFalse() && p.Status.Failure != nil && cond.Reason == p.Status.Failure.Reason
		if news && !repeats {
			c.Notes = append(c.Notes, note)
		}
	}
	if note := retryNote(p); note != "" && s.fresh("retry", note) {
		c.Notes = append(c.Notes, note)
	}
	if p.DeletionTimestamp != nil && s.fresh("deletion", "yes") {
		c.Notes = append(c.Notes, "deletion was requested")
	}
	if !over {
		c.Percent, c.Text = present(p)
	}
	return c
}

// fresh reports whether what differs from the value that the topic had in the last call. It stores
// what as the new value of the topic.
func (s *reporter) fresh(topic, what string) bool {
	before := s.reported[topic]
	s.reported[topic] = what
	return before != what
}

// condition returns a note about a condition that became true or false. The second result is false
// if there is nothing to report. These are the cases:
//   - The condition is the same as in the last call.
//   - The condition is Unknown, because its step has not happened yet.
//   - The condition is Ready or Stalled. These are reported at the end of the command.
//   - The condition only says that no plugins were requested, or that no host and no certificate has
//     a problem.
func (s *reporter) condition(cond apis.Condition) (string, bool) {
	if cond.Type == apis.ConditionReady || cond.Type == v1alpha1.ConditionStalled || cond.Reason == v1alpha1.ReasonNoPlugins || cond.Reason == v1alpha1.ReasonNoProblems ||
		cond.Type == v1alpha1.ConditionCertificatesValid && cond.IsTrue() {
		return "", false
	}
	state := string(cond.Status) + cond.Reason
	if cond.IsFalse() {
		state += cond.Message // the message changes, for example with the number of missing hosts
	}
	if !s.fresh(string(cond.Type), state) || cond.IsUnknown() {
		return "", false
	}
	note := string(cond.Type)
	if cond.IsFalse() {
		note += "=False"
		if cond.Reason != "" {
			note += " (" + cond.Reason + ")"
		}
	}
	if message := clean(cond.Message); message != "" {
		note += ": " + message
	}
	return note, true
}

// retryNote describes a failure after which another attempt follows. It returns an empty string if
// there is no such failure.
func retryNote(p *v1alpha1.Provisioning) string {
	f := p.Status.Failure
	switch {
	case f == nil:
		return ""
	case f.NextAttempt != nil:
		return fmt.Sprintf("failed: %s; next attempt at %s", oneLine(f), timeOfDay(f.NextAttempt))
	case retryAsked(p):
		return fmt.Sprintf("failed: %s; another attempt was requested", oneLine(f))
	}
	return ""
}

func timeOfDay(t *metav1.Time) string { return t.UTC().Format("15:04:05 MST") }

// oneLine describes a failure in one line.
func oneLine(f *v1alpha1.FailureStatus) string {
	var s strings.Builder
	s.WriteString(f.Reason)
	if f.Task != "" {
		s.WriteString(" in " + f.Task)
	}
	if f.Host != "" {
		s.WriteString(" on " + f.Host)
	}
	if message := clean(f.Message); message != "" {
		s.WriteString(": " + message)
	}
	return s.String()
}

// explanation returns the message of a condition as one line. If it only names the failure, the line has the
// message of the failure instead. A message that is also the hint of the failure explains more than that.
func explanation(p *v1alpha1.Provisioning, cond *apis.Condition) string {
	f := p.Status.Failure
	if f == nil || f.Message == "" || !cond.IsFalse() || f.Reason != cond.Reason || f.Hint == cond.Message {
		return clean(cond.Message)
	}
	return strings.TrimPrefix(f.Host+": "+clean(f.Message), ": ")
}

// present describes the current step of the Provisioning. percent is -1 if the step has no
// percentage.
func present(p *v1alpha1.Provisioning) (percent int, text string) {
	progress := p.Status.Progress
	switch {
	case p.DeletionTimestamp != nil:
		return -1, "deleting"
	case p.Status.ObservedGeneration < p.Generation:
		return -1, "the controller has not seen this version yet"
	case p.Spec.Paused && !running(p):
		return -1, "paused (spec.paused)"
	case progress == nil || !running(p):
		return -1, waiting(p)
	}
	text = progress.Task
	if step := clean(progress.Step); step != "" {
		text += ": " + step
	}
	if ready, n := countNodes(p); n > 0 {
		text = fmt.Sprintf("%s   %d/%d nodes", text, ready, n)
	}
	return min(max(int(progress.Percent), 0), 100), text
}

func running(p *v1alpha1.Provisioning) bool {
	return p.Status.Run != nil && p.Status.Run.CompletionTime == nil
}

// waiting describes what the Provisioning waits for. It uses the condition Ready, which repeats the
// most important condition. If Ready is False, its message is omitted, because a note has the
// message already.
func waiting(p *v1alpha1.Provisioning) string {
	text := "waiting"
	cond := p.Status.GetCondition(apis.ConditionReady)
	if cond == nil {
		return text
	}
	if cond.Reason != "" && cond.Reason != v1alpha1.ReasonWaiting {
		text += ": " + cond.Reason
	}
	if message := clean(cond.Message); message != "" && !cond.IsFalse() {
		text += ": " + message
	}
	return text
}

// countNodes counts nodes. It leaves out standby hosts, on which nothing is
// installed, and lost nodes.
func countNodes(p *v1alpha1.Provisioning) (ready, all int) {
	for _, node := range p.Status.Nodes {
		switch node.State {
		case v1alpha1.NodeStandby, v1alpha1.NodeLost:
			continue
		case v1alpha1.NodeReady:
			ready++
		}
		all++
	}
	return ready, all
}

// noRun is the time of a run that has not started.
const noRun time.Duration = -1

// elapsed returns the time of the current run until now or until its end.
func elapsed(p *v1alpha1.Provisioning, now time.Time) time.Duration {
	run := p.Status.Run
	if run == nil || run.StartTime == nil {
		return noRun
	}
	if run.CompletionTime != nil {
		now = run.CompletionTime.Time
	}
	// the clocks of two machines may differ, so the difference can be negative
	return max(now.Sub(run.StartTime.Time), 0).Truncate(time.Second)
}

// clock formats a time as 03:12, or as 1:03:12 from one hour on.
func clock(d time.Duration) string {
	if d == noRun {
		return "--:--"
	}
	s := int(d.Seconds())
	if s < 3600 {
		return fmt.Sprintf("%02d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// conditionOrder is the order in which conditions normally become true.
var conditionOrder = []apis.ConditionType{
	v1alpha1.ConditionArtifactsAvailable, v1alpha1.ConditionHostsClaimed, v1alpha1.ConditionHostsHealthy, v1alpha1.ConditionClusterInstalled, v1alpha1.ConditionPluginsInstalled,
	v1alpha1.ConditionKubeconfigReady, v1alpha1.ConditionClusterHealthy, v1alpha1.ConditionCertificatesValid, v1alpha1.ConditionReady,
}

// inOrder returns the conditions in conditionOrder, and then unknown conditions by name.
func inOrder[C ~[]apis.Condition](conditions C) []apis.Condition {
	rank := func(c apis.Condition) int {
		if i := slices.Index(conditionOrder, c.Type); i >= 0 {
			return i
		}
		return len(conditionOrder)
	}
	sorted := slices.Clone([]apis.Condition(conditions))
	slices.SortStableFunc(sorted, func(a, b apis.Condition) int {
		return cmp.Or(rank(a)-rank(b), cmp.Compare(a.Type, b.Type))
	})
	return sorted
}

// escapes matches a terminal's control sequences: colours, titles and the like.
var escapes = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?)`)

// clean returns text as one printable line. It is used for text from other programs: escape
// sequences in a playbook's message must not reach the terminal.
func clean(text string) string {
	text = escapes.ReplaceAllString(text, "")
	printable := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsPrint(r):
			return r
		}
		return -1
	}, text)
	return strings.Join(strings.Fields(printable), " ")
}
