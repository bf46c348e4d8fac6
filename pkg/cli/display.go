package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
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
	file *os.File
	bar  *progressbar.ProgressBar
}

func newBar(file *os.File) *bar {
	return &bar{file: file, bar: progressbar.NewOptions(100,
		progressbar.OptionSetWriter(writerOnly{file}),
		progressbar.OptionSetWidth(20),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionUseANSICodes(true),
		progressbar.OptionShowDescriptionAtLineEnd(),
	)}
}

// writerOnly hides from the progress bar's library that the output is a file. The library would
// sync a file to the disk after each step.
type writerOnly struct{ io.Writer }

func (b *bar) show(c update) {
	for _, note := range c.Notes {
		_ = b.bar.Clear()
		_, _ = fmt.Fprintf(b.file, "%s       %s\n", clock(c.Elapsed), note)
	}
	if c.Text == "" {
		return
	}
	_ = b.bar.Clear() // otherwise a shorter text leaves the end of a longer text on the screen
	b.bar.Describe(b.fit(clock(c.Elapsed) + "  " + c.Text))
	if c.Percent >= 0 {
		_ = b.bar.Set(min(c.Percent, 99)) // the library would start a new line at 100
	}
}

// fit shortens text so that it fits on one line together with the bar. Only a single line can be
// redrawn.
func (b *bar) fit(text string) string {
	const barWidth = 32
	width, _, err := term.GetSize(int(b.file.Fd()))
	if err != nil || width < barWidth+20 {
		width = 80
	}
	runes := []rune(text)
	if space := width - barWidth; len(runes) > space {
		return string(runes[:space-1]) + "…"
	}
	return text
}

func (b *bar) close() { _ = b.bar.Clear() }
