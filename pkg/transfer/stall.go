package transfer

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// stallLimit is the maximum time in which a source may send nothing. It ends transfers that hang.
// Large content is not affected, because the time starts again after each read.
const stallLimit = 2 * time.Minute

var errStalled = errors.New("the server sent nothing")

// watched returns a reader of body that closes body if a read takes longer than limit. The read
// then ends with an error.
func watched(body io.ReadCloser, limit time.Duration) io.ReadCloser {
	w := &watcher{ReadCloser: body, limit: limit}
	w.timer = time.AfterFunc(limit, func() {
		w.stalled.Store(true)
		_ = body.Close()
	})
	w.timer.Stop() // the timer runs only during a read
	return w
}

type watcher struct {
	io.ReadCloser
	limit   time.Duration
	timer   *time.Timer
	stalled atomic.Bool
}

func (w *watcher) Read(p []byte) (int, error) {
	w.timer.Reset(w.limit)
	n, err := w.ReadCloser.Read(p)
	w.timer.Stop()
	if err != nil && !errors.Is(err, io.EOF) && w.stalled.Load() {
		err = fmt.Errorf("%w for %s", errStalled, w.limit)
	}
	return n, err
}

func (w *watcher) Close() error {
	w.timer.Stop()
	return w.ReadCloser.Close()
}
