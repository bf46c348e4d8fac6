package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// display shows updates.
type display interface {
	show(c update)
	// close leaves the cursor at the start of an empty line.
	close()
}

func newDisplay(out io.Writer) display {
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return newBar(f)
	}
	return &lines{out: out, percent: -2} // no update has the percentage -2, so the first update is always written
}

// stepPace is the minimum time between two lines that have the same percentage and different steps.
// It keeps the log short.
const stepPace = 5 * time.Second

// lines is a display for logs and pipes: it writes a line for each change.
type lines struct {
	out     io.Writer
	percent int
	text    string
	at      time.Duration
}

func (l *lines) show(c update) {
	for _, note := range c.Notes {
		l.print(c.Elapsed, -1, note)
	}
	paced := c.Percent == l.percent && c.Percent >= 0 && c.Elapsed >= l.at && c.Elapsed-l.at < stepPace
	if c.Text == "" || c.Text == l.text && c.Percent == l.percent || paced {
		return
	}
	l.percent, l.text, l.at = c.Percent, c.Text, c.Elapsed
	l.print(c.Elapsed, c.Percent, c.Text)
}

func (l *lines) print(elapsed time.Duration, percent int, text string) {
	share := "    "
	if percent >= 0 {
		share = fmt.Sprintf("%3d%%", percent)
	}
	_, _ = fmt.Fprintf(l.out, "%s %s  %s\n", clock(elapsed), share, text)
}

func (l *lines) close() {}

// bar is a display for terminals. Notes are written above it, and the last line always shows the
// current step.
type bar struct {
	file    *os.File
	percent int
	line    string // the last line on the screen
}

func newBar(file *os.File) *bar { return &bar{file: file} }

// barWidth is the number of characters of the bar.
const barWidth = 20

// clearLine is the sequence of a terminal that empties the current line.
const clearLine = "\r\x1b[K"

func (b *bar) show(c update) {
	notes := ""
	for _, note := range c.Notes {
		notes += fmt.Sprintf("%s       %s\n", clock(c.Elapsed), note)
	}
	if c.Text != "" {
		if c.Percent >= 0 {
			b.percent = min(c.Percent, 100)
		}
		done := b.percent * barWidth / 100
		b.line = b.fit(fmt.Sprintf("%4d%% [%s%s] %s  %s", b.percent, strings.Repeat("█", done), strings.Repeat(" ", barWidth-done), clock(c.Elapsed), c.Text))
	}
	_, _ = fmt.Fprint(b.file, clearLine, notes, b.line)
}

// fit shortens a line to the width of the terminal. Only a single line can be redrawn.
func (b *bar) fit(line string) string {
	width, _, err := term.GetSize(int(b.file.Fd()))
	if err != nil || width < 2*barWidth {
		width = 80
	}
	if runes := []rune(line); len(runes) > width-1 {
		return string(runes[:width-2]) + "…"
	}
	return line
}

func (b *bar) close() { _, _ = fmt.Fprint(b.file, clearLine) }
