package uploads

import (
	"context"
	"errors"
	"strings"
	"testing"

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
	second() // once more does no harm
}

// A transfer ends for nobody but a request that goes on exactly where it stands.
func TestATransferEndsForItsResumptionAlone(t *testing.T) {
	for _, c := range []struct {
		name      string
		resumable bool
		claim     Claim
		want      error
	}{
		{"another upload", true, Claim{}, ErrLocked},
		{"another offset", true, Claim{Resume: true, Offset: 7}, ErrLocked},
		{"all or nothing", false, Claim{Resume: true, Offset: 5}, ErrLocked},
		{"resumed", true, Claim{Resume: true, Offset: 5}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
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
			if at, running := l.received("a"); at != 5 || !running {
				t.Errorf("received = %d, %t", at, running)
			}
			if _, err := l.acquire(t.Context(), "a", c.claim); !errors.Is(err, c.want) {
				t.Errorf("acquire = %v, want %v", err, c.want)
			}
		})
	}
}
