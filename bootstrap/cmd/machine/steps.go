package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// step is one visible stage; run gives a remark for the person who watches, such as "up to date".
type step struct {
	title string
	run   func(ctx context.Context, log io.Writer) (remark string, err error)
	// progress says how far a long step is; nil or empty text means that only the time is known.
	progress fmt.Stringer
}

// runSteps prints each step with its time. What tools say goes to log/<command>.log, whose path is named at a failure.
// One command works on the state folder at a time.
func runSteps(ctx context.Context, l layout.Layout, command string, steps []step) error {
	if os.Geteuid() != 0 {
		return errors.New("this needs root: it sets up interfaces, firewall rules and containers")
	}
	unlock, err := exclusive(ctx, l)
	if err != nil {
		return err
	}
	defer unlock()
	log, err := createLog(l, command)
	if err != nil {
		return err
	}
	defer log.Close()
	began := time.Now()
	for i, s := range steps {
		d := newDisplay(fmt.Sprintf("[%2d/%d] %-26s", i+1, len(steps), s.title), s.progress)
		fmt.Fprintf(log, "== %s\n", s.title)
		remark, err := watched(ctx, s, log, d)
		if err != nil {
			d.end("FAILED")
			return fmt.Errorf("%s: %w\n(what the tools said: %s)", s.title, err, log.Name())
		}
		d.end(remark)
	}
	fmt.Printf("done in %s\n", elapsed(time.Since(began)))
	return nil
}

// watched runs the step and shows how far it is: a long build must not look dead.
func watched(ctx context.Context, s step, log io.Writer, d *display) (remark string, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		remark, err = s.run(ctx, log)
	}()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return remark, err
		case <-tick.C:
			d.tick(time.Now())
		}
	}
}

// exclusive waits until no other command works on the state folder.
func exclusive(ctx context.Context, l layout.Layout) (unlock func(), err error) {
	if err := os.MkdirAll(l.Root, 0o755); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(l.CommandLock(), os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for said := false; unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil; said = true {
		if !said {
			fmt.Println("waiting for another machine command to end")
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			lock.Close()
			return nil, ctx.Err()
		}
	}
	return func() { lock.Close() }, nil
}

func createLog(l layout.Layout, command string) (*os.File, error) {
	path := l.Log(command + ".log")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	return os.Create(path)
}

func remark(changed bool) string {
	if changed {
		return ""
	}
	return "up to date"
}
