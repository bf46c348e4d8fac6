package restore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// limit returns the limit of the time of each step on the control planes. All members of etcd get the snapshot
// at the same time, through the network of one pod: 10 MB/s are what 100 Mbit/s give.
func (r *restoration) limit() time.Duration {
	const base, perSecond = 30 * time.Minute, 10_000_000
	if r.backup == nil {
		return base
	}
	return base + time.Duration(r.snapshotSize()*int64(len(r.planes))/perSecond)*time.Second
}

// eachPlane runs a step on all new control planes in parallel.
func (r *restoration) eachPlane(ctx context.Context, step string, do func(context.Context, contract.Node, node.Connection) error) error {
	errs := make([]error, len(r.planes))
	limited, cancel := context.WithTimeout(ctx, r.limit())
	defer cancel()
	session.Each(len(r.planes), func(i int) {
		conn, _, err := r.access().FirstControlPlane(limited, r.planes[i:i+1])
		if err == nil {
			err = do(limited, r.planes[i], conn)
			conn.Close()
		}
		errs[i] = err
	})
	if err := session.Stopped(ctx, step); err != nil {
		return err
	}
	for i, err := range errs {
		if err != nil {
			return stepFailed(r.planes[i], step, err)
		}
	}
	return nil
}

// stepFailed returns the error of a step on a control plane.
func stepFailed(n contract.Node, step string, err error) error {
	var known *task.Error
	if errors.As(err, &known) {
		return err
	}
	failed := &task.Error{Reason: contract.ReasonClusterUnhealthy, Host: n.Name, Step: step, Err: fmt.Errorf("%s on %s: %w", step, n.Name, err)}
	switch {
	case errors.Is(err, errDepot):
		failed.Reason = contract.ReasonDepotUnavailable
	case errors.Is(err, errDamaged):
		failed.Reason = contract.ReasonInvalidRequest
	case errors.Is(err, ssh.ErrUnreachable):
		failed.Reason = contract.ReasonHostUnreachable
	}
	return failed
}

// sh runs a script as root. The script must not contain a single quote.
func (r *restoration) sh(ctx context.Context, conn node.Connection, script string) (string, error) {
	text, err := node.Shell(r.in.Request, conn)(ctx, script)
	return string(text), err
}

// writeScript writes its input to a file. The arguments are the folder, the file and its mode. The file
// is whole or does not exist, also if the connection breaks.
const writeScript = `set -eu; umask 022; mkdir -p %[1]s; umask 077; cat >%[2]s.part; chmod %[3]s %[2]s.part; mv %[2]s.part %[2]s`

// write writes a key file. Its content is not a part of the command, which the machine may log.
func (r *restoration) write(ctx context.Context, conn node.Connection, f keyFile) error {
	script := fmt.Sprintf(writeScript, path.Dir(f.path), f.path, f.mode)
	_, err := conn.Send(ctx, node.AsRoot(r.in.Request, "sh -c '"+script+"'"), bytes.NewReader(f.content), 64<<10)
	if err != nil {
		return fmt.Errorf("write %s: %w", f.path, err)
	}
	return nil
}
