package build

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

// Progress counts the packages of one go build. It is safe to read while the build runs.
type Progress struct {
	compiled, total atomic.Int64
}

// String describes the progress of the build. It is empty before the first package.
func (p *Progress) String() string {
	switch compiled, total := p.compiled.Load(), p.total.Load(); {
	case compiled == 0:
		return ""
	case total == 0:
		return fmt.Sprintf("%d packages compiled", compiled)
	default:
		return fmt.Sprintf("%d of %d packages compiled", min(compiled, total), total)
	}
}

// Write counts the packages in the output of `go build -v`, which prints one line when it starts to
// compile a package. It ignores other lines, such as those about downloads.
func (p *Progress) Write(text []byte) (int, error) {
	for line := range bytes.Lines(text) {
		if bytes.HasSuffix(line, []byte("\n")) && !bytes.ContainsRune(line, ' ') && !bytes.HasPrefix(line, []byte("#")) {
			p.compiled.Add(1)
		}
	}
	return len(text), nil
}

// countAfter waits, and then sets the total unless ctx has ended. Counting takes seconds, and a
// build from Go's cache needs no total. The wait is there so that such a build ends before the
// counting begins. The total is the number of packages compiled so far plus the number of packages
// that Go's cache still lacks.
func (p *Progress) countAfter(ctx context.Context, wait time.Duration, dir string, flags, packages []string) {
	select {
	case <-ctx.Done():
		return
	case <-time.After(wait):
	}
	args := append([]string{"list", "-deps", "-f", "{{if .Stale}}stale{{end}}"}, flags...)
	list := command(ctx, append(args, packages...)...)
	list.Dir = dir
	before := p.compiled.Load()
	out, err := list.Output()
	if err == nil {
		p.total.Store(before + int64(strings.Count(string(out), "stale")))
	}
}
