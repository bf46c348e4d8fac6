package transfer

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// stallLimit is how long a source may send nothing at all: it bounds one that hangs, however large what it sends.
const stallLimit = 2 * time.Minute

var errStalled = errors.New("nothing came")

// watched closes a body that stalls, which ends the read that waits for it.
func watched(body io.ReadCloser, limit time.Duration) io.ReadCloser {
	w := &watcher{ReadCloser: body, limit: limit}
	w.timer = time.AfterFunc(limit, func() {
		w.stalled.Store(true)
		_ = body.Close()
	})
	w.timer.Stop() // only while somebody reads
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
