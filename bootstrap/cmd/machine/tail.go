package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// tailFile prints the last lines of a file. With follow, it then prints new lines until ctx ends,
// also after the log is rotated.
func tailFile(ctx context.Context, path string, lines int, follow bool) error {
	args := []string{fmt.Sprintf("--lines=%d", lines)}
	if follow {
		args = append(args, "-F")
	}
	cmd := exec.CommandContext(ctx, "tail", append(args, path)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		return err
	}
	return nil
}
