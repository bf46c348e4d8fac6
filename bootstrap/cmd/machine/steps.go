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

// step is one stage of a command. The user sees its title, its progress and the remark that run
// returns, such as "up to date".
type step struct {
	title string
	run   func(ctx context.Context, log io.Writer) (remark string, err error)
	// progress describes the progress of a long step. If it is nil or its text is empty, only the
	// elapsed time is shown.
	progress fmt.Stringer
}

// runSteps runs the steps in order and prints each with the time that it took. It stops at the
// first failure. Output of tools goes to log/<command>.log, and the error names that file. runSteps
// first waits until no other command works on the state folder.
func runSteps(ctx context.Context, l layout.Layout, command string, steps []step) error {
	if os.Geteuid() != 0 {
		return errors.New("run this command as root: it manages network interfaces, firewall rules and containers")
	}
	if err := l.Claim(); err != nil {
		return err
	}
	unlock, err := lockState(ctx, l)
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
		remark, err := runWithProgress(ctx, s, log, d)
		if err != nil {
			d.end("FAILED")
			return fmt.Errorf("%s: %w\n(output of the tools: %s)", s.title, err, log.Name())
		}
		d.end(remark)
	}
	fmt.Printf("done in %s\n", elapsed(time.Since(began)))
	return nil
}

// runWithProgress runs the step and updates the display each second, so that a long build does not
// look stuck.
func runWithProgress(ctx context.Context, s step, log io.Writer, d *display) (remark string, err error) {
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

// lockState waits until no other command works on the state folder, then locks the folder until
// unlock is called.
func lockState(ctx context.Context, l layout.Layout) (unlock func(), err error) {
	lock, err := os.OpenFile(l.CommandLock(), os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for reported := false; unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil; reported = true {
		if !reported {
			fmt.Println("waiting for another machine command to finish")
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
