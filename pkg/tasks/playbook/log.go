package playbook

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/akraino-icn/bpa/pkg/ansible"
)

// Locked returns a writer that lets several goroutines write to out, one at a time.
func Locked(out io.Writer) io.Writer { return &lockedWriter{out: out} }

type lockedWriter struct {
	mu  sync.Mutex
	out io.Writer
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}

// stderrWriter writes ansible's stderr to out, line by line and redacted. It keeps the last lines
// for an error message.
type stderrWriter struct {
	out    io.Writer
	redact ansible.Lines
	part   []byte
	kept   []string
}

const (
	maxStderrLine = 8 << 10
	keptLines     = 12
)

func (w *stderrWriter) Write(p []byte) (int, error) {
	n := len(p)
	for {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		if room := maxStderrLine - len(w.part); room > 0 {
			w.part = append(w.part, line[:min(len(line), room)]...)
		}
		if !ended {
			return n, nil
		}
		w.flush()
		p = rest
	}
}

// flush writes the last line if it has no line end. The caller must call flush after the last
// Write.
func (w *stderrWriter) flush() {
	line, show := w.redact.Redact(strings.TrimRight(string(w.part), "\r \t"))
	w.part = w.part[:0]
	if !show || line == "" || strings.Contains(line, "Skipping callback plugin ''") { // ansible prints this warning because kubespray's callbacks are off
		return
	}
	fmt.Fprintf(w.out, "      %s\n", line)
	if w.kept = append(w.kept, line); len(w.kept) > keptLines {
		w.kept = w.kept[1:]
	}
}

// last returns the last lines of ansible's stderr.
func (w *stderrWriter) last() string { return strings.Join(w.kept, "\n") }
