package debian

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/transfer"
)

// often is how often a line tells how far a download is.
const often = 5 * time.Second

// progress tells how far a download is. Nil tells nothing.
type progress struct {
	log      io.Writer
	now      func() time.Time
	begin    time.Time
	reported time.Time
	total    int64 // bytes; 0: not known
}

func newProgress(log io.Writer, total int64) *progress {
	now := time.Now()
	return &progress{log: log, now: time.Now, begin: now, reported: now, total: total}
}

// follow reads what apt-get writes to its APT::Status-Fd, until its end.
func (p *progress) follow(told io.Reader) {
	lines := bufio.NewScanner(told)
	for lines.Scan() {
		if percent, ok := downloaded(lines.Text()); ok && p != nil {
			p.report(percent)
		}
	}
	_, _ = io.Copy(io.Discard, told) // after a line that is too long; or apt-get would wait for its reader
}

func (p *progress) report(percent float64) {
	if p.now().Sub(p.reported) < often {
		return
	}
	p.reported = p.now()
	elapsed := p.reported.Sub(p.begin)
	share := ""
	if p.total > 0 {
		share = fmt.Sprintf("  %s of %s", transfer.Bytes(int64(percent/100*float64(p.total))), transfer.Bytes(p.total))
	}
	fmt.Fprintf(p.log, "[%3.0f%%] %02d:%02d%s\n", percent, int(elapsed.Minutes()), int(elapsed.Seconds())%60, share)
}

// downloaded reads a line such as "dlstatus:3:45.1234:Retrieving file 3 of 14".
func downloaded(line string) (percent float64, ok bool) {
	parts := strings.SplitN(line, ":", 4)
	if len(parts) != 4 || parts[0] != "dlstatus" {
		return 0, false
	}
	percent, err := strconv.ParseFloat(parts[2], 64)
	return percent, err == nil && percent >= 0 && percent <= 100
}
