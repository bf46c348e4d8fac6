package uploads

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/depot/limits"
)

func TestLockWaitsForShortWork(t *testing.T) {
	s := newService(t, limits.Limits{})
	first, err := s.Lock(t.Context(), image, Claim{Interrupt: func() { t.Error("short work was ended") }})
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Lock(gone, image, Claim{Resume: true}); !errors.Is(err, ErrLocked) {
		t.Errorf("a lock that is held = %v, want %v", err, ErrLocked)
	}
	go first()
	second, err := s.Lock(t.Context(), image, Claim{})
	if err != nil {
		t.Fatal(err)
	}
	second()
	second() // a second call does nothing
}

// Only a request that resumes at the reported offset interrupts a transfer.
func TestATransferEndsForItsResumptionAlone(t *testing.T) {
	for _, c := range []struct {
		name      string
		resumable bool
		claim     Claim
		want      error
	}{
		{"another upload", true, Claim{}, ErrLocked},
		{"another offset", true, Claim{Resume: true, Offset: 3}, ErrLocked},
		{"what is in memory", true, Claim{Resume: true, Offset: 5}, ErrLocked},
		{"all or nothing", false, Claim{Resume: true, Offset: 2}, ErrLocked},
		{"resumed", true, Claim{Resume: true, Offset: 2}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newLocks()
			var release func()
			held := Claim{}
			if c.resumable {
				held.Interrupt = func() { release() }
			}
			release, err := l.acquire(t.Context(), "a", held)
			if err != nil {
				t.Fatal(err)
			}
			body, ended := l.transfer("a", 2, strings.NewReader("345"))
			defer ended()
			if _, err := body.Read(make([]byte, 10)); err != nil {
				t.Fatal(err)
			}
			if at, running := l.running("a"); at != 2 || !running {
				t.Errorf("running = %d, %t, want the durable offset 2", at, running)
			}
			if _, err := l.acquire(t.Context(), "a", c.claim); !errors.Is(err, c.want) {
				t.Errorf("acquire = %v, want %v", err, c.want)
			}
		})
	}
}

// endless returns one byte at a time, without end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p[:1]), nil }

func TestATransferThatMovesIsNotEnded(t *testing.T) {
	l := newLocks()
	if _, err := l.acquire(t.Context(), "a", Claim{Interrupt: func() { t.Error("the transfer was ended") }}); err != nil {
		t.Fatal(err)
	}
	body, _ := l.transfer("a", 0, endless{})
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		tick := time.NewTicker(transferLimit / 50)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				_, _ = body.Read(make([]byte, 1))
			}
		}
	}()
	if _, err := l.acquire(t.Context(), "a", Claim{Resume: true}); !errors.Is(err, ErrLocked) {
		t.Errorf("acquire = %v, want %v", err, ErrLocked)
	}
}

// A client may drop the bytes before the reported offset, so these bytes must survive a crash.
func TestARunningTransferReportsWhatIsDurable(t *testing.T) {
	s := newService(t, limits.Limits{})
	s.segment = 5
	p := begun(t, s, "")
	unlock, err := s.Lock(t.Context(), image, Claim{})
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	body, send := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := s.Append(t.Context(), p, 0, body)
		done <- err
	}()
	if _, err := io.WriteString(send, content[:7]); err != nil { // returns when Append has read all of it
		t.Fatal(err)
	}
	open, err := s.Open(t.Context(), image)
	if err != nil || *open.Record.ImageOffset != 5 {
		t.Errorf("offset = %d, %v, want 5, where a segment has ended", *open.Record.ImageOffset, err)
	}
	if _, err := io.WriteString(send, content[7:]); err != nil {
		t.Fatal(err)
	}
	_ = send.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
