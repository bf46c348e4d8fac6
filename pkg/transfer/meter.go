package transfer

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// often is the maximum time between two lines of the log. After this time, a line with the progress
// is written.
const often = 10 * time.Second

// meter counts the bytes of a transfer and writes its log, a line at a time.
type meter struct {
	log   io.Writer
	now   func() time.Time
	start time.Time
	stop  chan struct{}
	quiet sync.WaitGroup

	mu       sync.Mutex
	total    int64
	sent     int64
	parts    map[string]int64
	reported time.Time
}

func newMeter(log io.Writer, now func() time.Time) *meter {
	if log == nil {
		log = io.Discard
	}
	return &meter{log: log, now: now, start: now(), reported: now(), stop: make(chan struct{}), parts: map[string]int64{}}
}

// expect adds bytes to the total.
func (m *meter) expect(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.total += bytes
}

// set sets how many bytes of one part are done. The number can become lower, because a part may
// have to be sent again from its start.
func (m *meter) set(part string, bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sent += bytes - m.parts[part]
	m.parts[part] = bytes
}

// report writes a line with the progress of the whole transfer.
func (m *meter) report(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.line(fmt.Sprintf(format, args...))
}

func (m *meter) line(text string) {
	m.reported = m.now()
	elapsed := m.reported.Sub(m.start)
	fmt.Fprintf(m.log, "[%3d%%] %02d:%02d  %s\n", m.percent(), int(elapsed.Minutes()), int(elapsed.Seconds())%60, text)
}

func (m *meter) percent() int64 {
	if m.total <= 0 {
		return 0
	}
	return min(100, max(0, m.sent*100/m.total))
}

// begin starts to write progress lines regularly, until end is called, so that the log shows
// progress during large blobs.
func (m *meter) begin() {
	m.quiet.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-m.stop:
				return
			case <-tick.C:
				m.still()
			}
		}
	})
}

func (m *meter) still() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.now().Sub(m.reported) >= often {
		m.line(fmt.Sprintf("%s of %s", Bytes(m.sent), Bytes(m.total)))
	}
}

func (m *meter) end() {
	close(m.stop)
	m.quiet.Wait()
}

// Bytes formats a number of bytes for users, such as 1.5 MiB.
func Bytes(n int64) string {
	const unit = 1024
	switch {
	case n < unit:
		return fmt.Sprintf("%d B", n)
	case n < unit*unit:
		return fmt.Sprintf("%.1f KiB", float64(n)/unit)
	case n < unit*unit*unit:
		return fmt.Sprintf("%.1f MiB", float64(n)/(unit*unit))
	}
	return fmt.Sprintf("%.2f GiB", float64(n)/(unit*unit*unit))
}
