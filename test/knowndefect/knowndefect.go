package knowndefect

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// Expect runs the story of a known defect. number is that of its row in docs/known-defects.md. The story
// states on should what should be true. It passes its fixtures the outer t, so that a story that cannot be
// played fails the test instead of passing for the defect. Expect ends the test as a failure if nothing
// that the story states on should is wrong: the defect is repaired, and its row must go. The rest of the
// test can show that the workaround of the row works.
//
// The story has a goroutine of its own, because should.Fatal ends the goroutine that calls it, as it does
// in every test. The story calls should only from there. A panic is no defect and ends the test program.
func Expect(t testing.TB, number string, story func(should testing.TB)) {
	t.Helper()
	should, ended := &recorder{TB: t}, make(chan struct{})
	go func() {
		defer close(ended)
		story(should)
		should.complete = true
	}()
	<-ended
	switch {
	case t.Failed(): // by a fixture
		t.FailNow()
	case should.failed:
		t.Logf("known defect %s of docs/known-defects.md:\n%s", number, strings.Join(should.texts, "\n"))
	case !should.complete:
		t.Fatalf("the story of %s has ended before its end, for example with Skip: it proves nothing", number)
	default:
		t.Fatalf("%s is repaired: move this story to the tests of its package, without knowndefect.Expect, and delete its row in docs/known-defects.md", number)
	}
}

// recorder is the testing.TB of a story. It keeps failures for itself; the rest, such as Log, Helper,
// Cleanup and TempDir, is that of the test.
type recorder struct {
	testing.TB
	failed, complete bool
	texts            []string // of the failures
}

func (r *recorder) Fail()        { r.failed = true }
func (r *recorder) Failed() bool { return r.failed }

func (r *recorder) FailNow() {
	r.Fail()
	runtime.Goexit()
}

func (r *recorder) Error(args ...any) {
	r.texts = append(r.texts, strings.TrimSuffix(fmt.Sprintln(args...), "\n"))
	r.Fail()
}

func (r *recorder) Errorf(format string, args ...any) {
	r.texts = append(r.texts, fmt.Sprintf(format, args...))
	r.Fail()
}

func (r *recorder) Fatal(args ...any) {
	r.Error(args...)
	r.FailNow()
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	r.FailNow()
}
