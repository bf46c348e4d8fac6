package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// display shows the progress of one step. On a terminal it rewrites one line each second.
// Elsewhere, such as in a CI log, it prints a whole line after 10 s and then one each minute.
type display struct {
	out      io.Writer
	terminal bool
	head     string
	progress fmt.Stringer
	began    time.Time
	next     time.Time // when to print again
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

// tick prints the progress if the next print is due.
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

// end prints the time that the step took, and a remark.
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
