package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
)

func TestRunWritesResults(t *testing.T) {
	dir := t.TempDir()
	code := run(context.Background(), dir, func(context.Context) (map[string]string, error) {
		return map[string]string{"count": "3"}, nil
	})
	got, err := os.ReadFile(filepath.Join(dir, "count"))
	if code != 0 || err != nil || string(got) != "3" {
		t.Errorf("run() = %d, result %q, %v; want 0 and 3", code, got, err)
	}
}

func TestRunWritesFailure(t *testing.T) {
	denied := &Error{Reason: contract.ReasonSSHDenied, Host: "master-1", Err: errors.New("no")}
	stopped, stop := context.WithCancel(context.Background())
	stop()
	for _, tc := range []struct {
		name string
		ctx  context.Context
		err  error
		want contract.Failure
	}{
		{"with a reason", context.Background(), fmt.Errorf("connect: %w", denied), contract.Failure{Reason: contract.ReasonSSHDenied, Host: "master-1", Message: "no"}},
		{"without a reason", context.Background(), errors.New("odd"), contract.Failure{Reason: contract.ReasonInternal, Message: "odd"}},
		{"cancelled", stopped, errors.New("killed"), contract.Failure{Reason: contract.ReasonCancelled, Message: "stopped: killed"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			code := run(tc.ctx, dir, func(context.Context) (map[string]string, error) { return nil, tc.err })
			if code != 1 {
				t.Errorf("run() = %d, want 1", code)
			}
			raw, err := os.ReadFile(filepath.Join(dir, contract.ResultFailure))
			if err != nil {
				t.Fatal(err)
			}
			var got contract.Failure
			if err := json.Unmarshal(raw, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("failure (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFailureFitsIntoResult(t *testing.T) {
	long := strings.Repeat("ä\n\"<", 5000)
	for name, e := range map[string]*Error{
		"long text":                  {Reason: contract.ReasonPlaybookFailed, Host: "w", Step: long, Err: errors.New(long)},
		"control characters":         {Reason: contract.ReasonPlaybookFailed, Host: strings.Repeat("\x01", 300), Step: strings.Repeat("\x01", 300), Err: errors.New(strings.Repeat("\x01", 3000))},
		"many nodes and a long text": {Reason: contract.ReasonHostUnreachable, Host: "worker-0", Others: slices.Repeat([]string{"worker-1"}, 500), Err: errors.New(strings.Repeat("x", 3000))},
	} {
		if result, err := json.Marshal(FailureOf(e)); err != nil || len(result) > contract.MaxText {
			t.Errorf("%s: the failure takes %d bytes (%v), want at most %d", name, len(result), err, contract.MaxText)
		}
	}
	e := &Error{Reason: contract.ReasonHostUnreachable, Host: "a", Others: []string{"b", "c"}, Err: errors.New("no")}
	if diff := cmp.Diff([]string{"b", "c"}, FailureOf(e).Others); diff != "" {
		t.Errorf("other nodes that fit (-want +got):\n%s", diff)
	}
	if s := Cut(long, 20); len(s) > 20 || !utf8.ValidString(s) {
		t.Errorf("Cut(20) = %q", s)
	}
}
