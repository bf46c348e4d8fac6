package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// display shows chapters as they come.
type display interface {
	show(c update)
	// close leaves the cursor on a fresh line.
	close()
}

func newDisplay(out io.Writer) display {
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return newBar(f)
	}
	return &lines{out: out, percent: -2} // unlike any percent
}

// stepPace is how often a line is spent on a step that neither ends a task nor
// moves the percentage: a log is read by people too.
const stepPace = 5 * time.Second

// lines is for logs and pipes: a line for each change.
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

// bar is for terminals: notes scroll, the present step stays in the last line.
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

// writerOnly hides the file from the library, which would sync it at each step.
type writerOnly struct{ io.Writer }

func (b *bar) show(c update) {
	for _, note := range c.Notes {
		_ = b.bar.Clear()
		_, _ = fmt.Fprintf(b.file, "%s       %s\n", clock(c.Elapsed), note)
	}
	if c.Text == "" {
		return
	}
	_ = b.bar.Clear() // a shorter text would leave the end of a longer one
	b.bar.Describe(b.fit(clock(c.Elapsed) + "  " + c.Text))
	if c.Percent >= 0 {
		_ = b.bar.Set(min(c.Percent, 99)) // at 100 the library ends the line
	}
}

// fit cuts text so that it and the bar take one line, which can be redrawn.
func (b *bar) fit(text string) string {
	const barWidth = 32
	width, _, err := term.GetSize(int(b.file.Fd()))
	if err != nil || width < barWidth+20 {
		width = 80
	}
	runes := []rune(text)
	if room := width - barWidth; len(runes) > room {
		return string(runes[:room-1]) + "…"
	}
	return text
}

func (b *bar) close() { _ = b.bar.Clear() }
