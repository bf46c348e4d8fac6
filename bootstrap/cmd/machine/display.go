package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// display shows one step: on a terminal one line that is written again and again; elsewhere, such as in a CI log, whole
// lines, few of them.
type display struct {
	out      io.Writer
	terminal bool
	head     string
	progress fmt.Stringer
	began    time.Time
	next     time.Time // when something is to be shown again
}

func newDisplay(head string, progress fmt.Stringer) *display {
	_, err := unix.IoctlGetTermios(int(os.Stdout.Fd()), unix.TCGETS)
	d := &display{out: os.Stdout, terminal: err == nil, head: head, progress: progress, began: time.Now()}
	d.next = d.began.Add(10 * time.Second)
	if d.terminal {
		d.next = d.began
		d.tick(d.began)
	}
	return d
}

// tick shows the progress if it is time to.
func (d *display) tick(now time.Time) {
	if now.Before(d.next) {
		return
	}
	text := fmt.Sprintf("%s %7s", d.head, elapsed(now.Sub(d.began)))
	if d.progress != nil {
		text += "  " + d.progress.String()
	}
	if d.terminal {
		fmt.Fprintf(d.out, "\r\033[K%s", text)
		d.next = now.Add(time.Second)
		return
	}
	fmt.Fprintf(d.out, "%s ...\n", text)
	d.next = now.Add(time.Minute)
}

// end shows the time that the step took, and a remark.
func (d *display) end(remark string) {
	if d.terminal {
		fmt.Fprint(d.out, "\r\033[K")
	}
	fmt.Fprintf(d.out, "%s %7s  %s\n", d.head, elapsed(time.Since(d.began)), remark)
}

func elapsed(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}
