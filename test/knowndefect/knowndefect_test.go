package knowndefect

import (
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// outer is the test around a story. It keeps what Expect reports.
type outer struct {
	recorder
	logs []string
}

func (o *outer) Helper()                         {}
func (o *outer) Logf(format string, args ...any) { o.logs = append(o.logs, args[len(args)-1].(string)) }
func (o *outer) Skip(...any)                     { runtime.Goexit() }

// expect returns the test after Expect, and whether the test goes on after it.
func expect(t *testing.T, story func(o *outer, should testing.TB)) (o *outer, goesOn bool) {
	o = &outer{recorder: recorder{TB: t}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		Expect(o, "L0", func(should testing.TB) { story(o, should) })
		goesOn = true
	}()
	<-ended
	return o, goesOn
}

// TestStoryOfADefect: a story that fails on should, in whatever way, is that of the defect, and the test
// goes on. Its texts are in the log, as they would be in a failure.
func TestStoryOfADefect(t *testing.T) {
	diff := cmp.Diff([]string{"w-1"}, []string{"w-1", "w-2"})
	for name, tc := range map[string]struct {
		story func(should testing.TB)
		log   string
	}{
		"Error":       {func(should testing.TB) { should.Error("nodes", 2) }, "nodes 2"},
		"Errorf":      {func(should testing.TB) { should.Errorf("(-want +got):\n%s", diff) }, "(-want +got):\n" + diff},
		"Fatal":       {func(should testing.TB) { should.Fatal("no run"); should.Error("unreachable") }, "no run"},
		"Fatalf":      {func(should testing.TB) { should.Fatalf("%d runs", 0); should.Error("unreachable") }, "0 runs"},
		"FailNow":     {func(should testing.TB) { should.FailNow(); should.Error("unreachable") }, ""},
		"two of them": {func(should testing.TB) { should.Error("one"); should.Error("two") }, "one\ntwo"},
	} {
		t.Run(name, func(t *testing.T) {
			o, goesOn := expect(t, func(_ *outer, should testing.TB) {
				should.Helper()
				tc.story(should)
				if !should.Failed() {
					t.Error("the story does not see that it has failed")
				}
			})
			if o.failed || !goesOn {
				t.Errorf("failed %t with %q, goes on %t; want a test that goes on", o.failed, o.texts, goesOn)
			}
			if diff := cmp.Diff([]string{tc.log}, o.logs); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
		})
	}
}

// TestStoryWithoutItsDefect: a story that does not fail on should ends the test as a failure, also if the
// defect hides behind a fixture that has failed, or behind a skipped story.
func TestStoryWithoutItsDefect(t *testing.T) {
	for name, tc := range map[string]struct {
		story func(o *outer, should testing.TB)
		want  string
	}{
		"repaired":             {func(*outer, testing.TB) {}, "L0 is repaired: move this story"},
		"a fixture has failed": {func(o *outer, should testing.TB) { o.Errorf("no cluster"); should.Error("no node") }, "no cluster"},
		"a fixture gives up":   {func(o *outer, _ testing.TB) { o.Fatal("no cluster") }, "no cluster"},
		"skipped":              {func(o *outer, should testing.TB) { should.Skip("later") }, "it proves nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			o, goesOn := expect(t, tc.story)
			if !o.failed || goesOn || len(o.texts) != 1 || !strings.Contains(o.texts[0], tc.want) {
				t.Errorf("failed %t with %q, goes on %t; want the failure %q", o.failed, o.texts, goesOn, tc.want)
			}
		})
	}
}
