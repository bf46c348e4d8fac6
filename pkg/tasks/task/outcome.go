package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// ResultsDir is the directory where Tekton reads the results of a task, one file for each result.
const ResultsDir = "/tekton/results"

// Error is a failure of a task with one of the failure reasons in package contract.
type Error struct {
	Reason contract.Reason
	Host   string // name of the node that the failure is about; empty: none
	Step   string // what the task was doing; empty: not recorded
	// Others are the names of further nodes that failed for the same reason.
	Others []string
	// Accelerated is Failure.Accelerated of package contract.
	Accelerated bool
	Err         error
}

func (e *Error) Error() string {
	if e.Host == "" {
		return fmt.Sprintf("%s: %v", e.Reason, e.Err)
	}
	return fmt.Sprintf("%s: %s: %v", e.Reason, e.Host, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Because adds a failure reason to an error.
func Because(reason contract.Reason, err error) error {
	return &Error{Reason: reason, Err: err}
}

// FailureOf converts an error to the value of the result "failure". It shortens the strings, so that
// the JSON of the result has at most contract.MaxText bytes. If the error has no failure reason, the
// reason is ReasonInternal.
func FailureOf(err error) contract.Failure {
	f := contract.Failure{Reason: contract.ReasonInternal, Message: err.Error()}
	var e *Error
	if errors.As(err, &e) {
		f = contract.Failure{Reason: e.Reason, Host: e.Host, Step: e.Step, Message: e.Err.Error(), Others: slices.Clone(e.Others)}
	}
	for cause := err; errors.As(cause, &e); cause = e.Err { // another reason can be put around that of the playbook
		f.Accelerated = f.Accelerated || e.Accelerated
	}
	f.Host = Cut(f.Host, 64)
	f.Step = Cut(f.Step, 160)
	f.Message = Cut(f.Message, contract.MaxText-300)
	return fit(f)
}

// fit shortens a failure until its JSON has at most contract.MaxText bytes. It removes the other
// nodes first, because the message is more useful to a user.
func fit(f contract.Failure) contract.Failure {
	for {
		text, _ := json.Marshal(f) // cannot fail: strings only
		over := len(text) - contract.MaxText
		switch {
		case over <= 0:
			return f
		case len(f.Others) > 0:
			f.Others = f.Others[:len(f.Others)-1]
		case len(f.Message) > shortest:
			f.Message = Cut(f.Message, max(shortest, len(f.Message)-max(1, over/6))) // a byte takes at most six bytes in JSON
		default:
			f.Step = Cut(f.Step, max(shortest, len(f.Step)/2))
			if len(f.Step) <= shortest {
				return f
			}
		}
	}
}

// shortest is the length in bytes below which fit does not shorten a string.
const shortest = 20

// Cut shortens a string to at most max bytes. It never cuts a character in two.
func Cut(s string, max int) string {
	const dots = "..."
	if len(s) <= max {
		return s
	}
	s = s[:max-len(dots)]
	for len(s) > 0 && !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s + dots
}

// Write stores the results of a task in dir, one file for each result. Each file is written
// completely or not at all.
func Write(dir string, results map[string]string) error {
	for name, value := range results {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path+".tmp", []byte(value), 0o644); err != nil {
			return fmt.Errorf("write result %s: %w", name, err)
		}
		if err := os.Rename(path+".tmp", path); err != nil {
			return fmt.Errorf("write result %s: %w", name, err)
		}
	}
	return nil
}

// Main runs a task and exits the process. The exit status is 0 on success. On failure it is 1, and
// Main writes a "failure" result to dir. The context is cancelled when Tekton cancels the task with
// SIGTERM. No other function ends the process.
func Main(dir string, task func(context.Context) (map[string]string, error)) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	os.Exit(run(ctx, dir, task))
}

func run(ctx context.Context, dir string, task func(context.Context) (map[string]string, error)) int {
	results, err := task(ctx)
	if err == nil {
		err = Write(dir, results)
	}
	if err == nil {
		return 0
	}
	if ctx.Err() != nil {
		err = &Error{Reason: contract.ReasonCancelled, Err: fmt.Errorf("stopped: %w", err)}
	}
	failure := FailureOf(err)
	fmt.Fprintf(os.Stderr, "\nFAILED %s\n", err)
	result, _ := json.Marshal(failure) // cannot fail: strings only
	if err := Write(dir, map[string]string{contract.ResultFailure: string(result)}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return 1
}

// Printable returns text from a machine without control characters, and not longer than most bytes.
func Printable(text string, most int) string {
	return Cut(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text), most)
}
