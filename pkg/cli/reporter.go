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

// reporter turns the successive states of one Provisioning into what is worth
// telling. It remembers what was told, so that nothing is told twice.
type reporter struct {
	reported map[string]string
}

// update is what one state adds.
type update struct {
	// Elapsed is the time of the run, noRun without one.
	Elapsed time.Duration
	// Notes are milestones, one line each.
	Notes []string
	// Percent and Text are the present step. Percent is -1 while there is no
	// progress, and Text is empty once it is all over.
	Percent int
	Text    string
}

func newReporter() *reporter { return &reporter{reported: map[string]string{}} }

func (s *reporter) next(p *v1alpha1.Provisioning, now time.Time) update {
	c := update{Elapsed: elapsed(p, now), Percent: -1}
	over := verdictOf(p) != underway
	if run := p.Status.Run; run != nil && s.fresh("run", run.Name) {
		c.Notes = append(c.Notes, fmt.Sprintf("%s, attempt %d: PipelineRun %s", run.Operation, run.Attempt, run.Name))
	}
	for _, cond := range inOrder(p.Status.Conditions) {
		note, news := s.condition(cond)
		// A failure is told with its circumstances: here while another attempt
		// follows, by the command's end otherwise.
		repeats := cond.IsFalse() && p.Status.Failure != nil && cond.Reason == p.Status.Failure.Reason
		if news && !repeats {
			c.Notes = append(c.Notes, note)
		}
	}
	if note := retryNote(p); note != "" && s.fresh("retry", note) {
		c.Notes = append(c.Notes, note)
	}
	if p.DeletionTimestamp != nil && s.fresh("deletion", "yes") {
		c.Notes = append(c.Notes, "deletion was asked for")
	}
	if !over {
		c.Percent, c.Text = present(p)
	}
	return c
}

// fresh reports whether this differs from what was last told about the topic.
func (s *reporter) fresh(topic, what string) bool {
	before := s.reported[topic]
	s.reported[topic] = what
	return before != what
}

// condition tells of a condition that became true or false. What is Unknown
// has not happened yet, Ready and Stalled are told by the end, and that nobody asked for
// plugins or has a word against the hosts is no news.
func (s *reporter) condition(cond apis.Condition) (string, bool) {
	if cond.Type == apis.ConditionReady || cond.Type == v1alpha1.ConditionStalled || cond.Reason == v1alpha1.ReasonNoPlugins || cond.Reason == v1alpha1.ReasonNoProblems {
		return "", false
	}
	state := string(cond.Status) + cond.Reason
	if cond.IsFalse() {
		state += cond.Message // such as how many hosts are still missing
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

// retryNote tells of a failure after which another attempt follows.
func retryNote(p *v1alpha1.Provisioning) string {
	f := p.Status.Failure
	switch {
	case f == nil:
		return ""
	case f.NextAttempt != nil:
		return fmt.Sprintf("failed: %s; next attempt at %s", oneLine(f), timeOfDay(f.NextAttempt))
	case retryAsked(p):
		return fmt.Sprintf("failed: %s; another attempt was asked for", oneLine(f))
	}
	return ""
}

func timeOfDay(t *metav1.Time) string { return t.UTC().Format("15:04:05 MST") }

// oneLine is a failure as a sentence.
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

// present is what happens now.
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

// waiting says what for, by Ready, which repeats the condition that matters
// most. What is False was told in full as a note.
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

// countNodes leaves out standby hosts, on which nothing is installed, and what is lost.
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

// noRun stands for the time of a run that has not started.
const noRun time.Duration = -1

// elapsed is how long the current run takes so far, or took.
func elapsed(p *v1alpha1.Provisioning, now time.Time) time.Duration {
	run := p.Status.Run
	if run == nil || run.StartTime == nil {
		return noRun
	}
	if run.CompletionTime != nil {
		now = run.CompletionTime.Time
	}
	// Clocks differ between machines; a negative time would only confuse.
	return max(now.Sub(run.StartTime.Time), 0).Truncate(time.Second)
}

// clock writes 03:12, or 1:03:12 from an hour on.
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

// conditionOrder is the order in which things happen.
var conditionOrder = []apis.ConditionType{
	v1alpha1.ConditionArtifactsAvailable, v1alpha1.ConditionHostsClaimed, v1alpha1.ConditionHostsHealthy, v1alpha1.ConditionClusterInstalled, v1alpha1.ConditionPluginsInstalled,
	v1alpha1.ConditionKubeconfigReady, v1alpha1.ConditionReady,
}

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

// clean makes one printable line of text that came from somewhere else: escape
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
