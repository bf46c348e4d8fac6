package visit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/check"
)

// Here runs the script for the only node of an Input on this machine, with the rights of this process.
func Here(ctx context.Context, in check.Input, limit time.Duration) check.Answer {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-s", "")
	cmd.Stdin, cmd.WaitDelay = strings.NewReader(check.Script(in, 0)), time.Second
	a := check.Answer{Asked: time.Now()}
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return check.Answer{Err: fmt.Errorf("run sh: %w", err)}
	}
	text, err := io.ReadAll(io.LimitReader(pipe, check.MostAnswer+1))
	if len(text) > check.MostAnswer {
		cancel()
		err = fmt.Errorf("the probe wrote more than %d bytes", check.MostAnswer)
	}
	err = errors.Join(err, cmd.Wait())
	a.Answered = time.Now()
	var parsed error
	if a.Facts, parsed = check.Parse(text); parsed != nil {
		a.Err = errors.Join(parsed, err)
	}
	return a
}
