package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// step is one visible stage; run gives a remark for the person who watches, such as "up to date".
type step struct {
	title string
	run   func(ctx context.Context, log io.Writer) (remark string, err error)
}

// runSteps prints each step with its time. What tools say goes to log/up.log, and its path is named at a failure.
func runSteps(ctx context.Context, l layout.Layout, steps []step) error {
	path := l.Log("up.log")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	log, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	began := time.Now()
	for i, s := range steps {
		fmt.Printf("[%2d/%d] %-34s", i+1, len(steps), s.title)
		fmt.Fprintf(log, "== %s\n", s.title)
		start := time.Now()
		remark, err := s.run(ctx, log)
		if err != nil {
			fmt.Printf(" FAILED after %s\n", seconds(start))
			return fmt.Errorf("%s: %w\n(details in %s)", s.title, err, path)
		}
		fmt.Printf(" %8s  %s\n", seconds(start), remark)
	}
	fmt.Printf("done in %s\n", seconds(began))
	return nil
}

func seconds(since time.Time) string { return fmt.Sprintf("%.1fs", time.Since(since).Seconds()) }

func remark(changed bool) string {
	if changed {
		return ""
	}
	return "up to date"
}
