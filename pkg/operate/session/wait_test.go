package session

import (
	"errors"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/ssh"
)

func TestWait(t *testing.T) {
	imaged := contract.Request{Spec: contract.Spec{OSImage: &contract.OSImage{}}}
	for _, tc := range []struct {
		in   Input
		want time.Duration
	}{
		{Input{}, 0},
		{Input{Request: imaged}, bootLimit},
		{Input{Request: imaged, BootLimit: time.Second}, time.Second},
		{Input{Request: imaged, Playbook: contract.PlaybookReset}, answerLimit},
	} {
		if got := tc.in.wait(); got != tc.want {
			t.Errorf("wait() = %s, want %s", got, tc.want)
		}
	}
	// the shorter times of tests are not those of users
	if in := (Input{}); in.PollInterval() != time.Second || in.FirstPause() != firstPause {
		t.Errorf("the task waits %s and %s between queries", in.PollInterval(), in.FirstPause())
	}
	if IsSilent(errors.New("odd")) || !IsSilent(ssh.ErrUnreachable) {
		t.Error("only an error of the connection means that nothing answers")
	}
}
