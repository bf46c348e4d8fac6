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

// often is the minimum time between two log lines about a download.
const often = 5 * time.Second

// progress logs the progress of a download. A nil progress logs nothing.
type progress struct {
	log      io.Writer
	now      func() time.Time
	begin    time.Time
	reported time.Time
	total    int64 // bytes; 0: unknown
}

func newProgress(log io.Writer, total int64) *progress {
	now := time.Now()
	return &progress{log: log, now: time.Now, begin: now, reported: now, total: total}
}

// follow reads the lines that apt-get writes to its APT::Status-Fd, until the end.
func (p *progress) follow(status io.Reader) {
	lines := bufio.NewScanner(status)
	for lines.Scan() {
		if percent, ok := downloaded(lines.Text()); ok && p != nil {
			p.report(percent)
		}
	}
	// The scanner stops at a line that is too long. The rest must be read too, because apt-get
	// would block in its next write.
	_, _ = io.Copy(io.Discard, status)
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

// downloaded parses a line such as "dlstatus:3:45.1234:Retrieving file 3 of 14".
func downloaded(line string) (percent float64, ok bool) {
	parts := strings.SplitN(line, ":", 4)
	if len(parts) != 4 || parts[0] != "dlstatus" {
		return 0, false
	}
	percent, err := strconv.ParseFloat(parts[2], 64)
	return percent, err == nil && percent >= 0 && percent <= 100
}
