package machine

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Shell runs a script as root on one machine and returns its standard output. It must run the script
// within single quotes, as in sh -c '...'. No script of this package contains a single quote.
type Shell func(ctx context.Context, script string) ([]byte, error)

// Report is the result of Inspect.
type Report struct {
	// User is the Provisioning that uses the machine. It is zero if Mark was not called since the
	// last Clean.
	User contract.User
	// Kubernetes is the evidence of a Kubernetes of any distribution on the machine, such as
	// "process kubelet (412)" or "directory /etc/kubernetes".
	Kubernetes []string
	// Left is what a reset must remove, such as "link cni0" or "file /usr/local/bin/kubelet". It
	// has at most mostLeft items, and then one with the number of the others.
	Left []string
}

// Clean reports whether nothing of a cluster is on the machine.
func (r Report) Clean() bool { return len(r.Kubernetes) == 0 && len(r.Left) == 0 }

// Err returns ErrIncomplete with what is left, or nil if nothing is left.
func (r Report) Err() error {
	left := append(append([]string{}, r.Left...), r.Kubernetes...)
	if len(left) == 0 {
		return nil
	}
	const few = 5
	if over := len(left) - few; over > 0 {
		left = append(left[:few:few], fmt.Sprintf("and %d more", over))
	}
	return fmt.Errorf("%w: %s", ErrIncomplete, strings.Join(left, ", "))
}

var (
	// ErrIncomplete reports that parts of a cluster are still on the machine.
	ErrIncomplete = errors.New("parts of the cluster are left")
	// errNoReport reports that a script did not run to its end.
	errNoReport = errors.New("the machine returned an incomplete answer")
)

// PlaybookVars returns the extra variables that kubespray's reset.yml needs. Without them, the
// playbook asks for a confirmation, deletes the site's packet filter rules, and restarts its network.
func PlaybookVars() map[string]any {
	return map[string]any{"reset_confirmation": true, "flush_iptables": false, "reset_restart_network": false}
}

// Limits of the time of a script. All commands in the scripts have smaller limits.
const (
	shortLimit = 3 * time.Minute
	cleanLimit = 15 * time.Minute
)

// Inspect reports what a cluster left on the machine. It changes nothing.
func Inspect(ctx context.Context, sh Shell) (Report, error) {
	out, err := run(ctx, sh, shortLimit, inspectScript)
	if err != nil {
		return Report{}, fmt.Errorf("inspect the machine: %w", err)
	}
	return parse(out), nil
}

// UsedBy returns the Provisioning that uses the machine, as Report.User. It is much faster than Inspect.
func UsedBy(ctx context.Context, sh Shell) (contract.User, error) {
	out, err := run(ctx, sh, shortLimit, usedByScript)
	if err != nil {
		return contract.User{}, fmt.Errorf("read the mark of the machine: %w", err)
	}
	return parse(out).User, nil
}

// Mark records that a Provisioning uses the machine. It must be called before the first change of
// the machine. If the machine has no Kubernetes yet, Mark also records the state that Clean restores
// and keeps. A second call with the same user changes nothing.
func Mark(ctx context.Context, sh Shell, user contract.User) error {
	set := "user64=" + base64.StdEncoding.EncodeToString([]byte(user.String())) + "\n"
	if _, err := run(ctx, sh, shortLimit, set+markScript); err != nil {
		return fmt.Errorf("mark the machine: %w", err)
	}
	return nil
}

// Save stores the site's packet filter rules and network configuration on the machine. It must be
// called before a reset playbook. It keeps the save of an interrupted reset.
func Save(ctx context.Context, sh Shell) error {
	if _, err := run(ctx, sh, shortLimit, saveScript); err != nil {
		return fmt.Errorf("save the packet filter rules of the machine: %w", err)
	}
	return nil
}

// Clean removes what a cluster and BPA left on the machine, with or without a reset playbook before
// it, and restores what Mark and Save stored. If something is left, the error is ErrIncomplete, and
// Clean can be called again.
func Clean(ctx context.Context, sh Shell) error {
	out, err := run(ctx, sh, cleanLimit, cleanScript)
	if err != nil {
		return fmt.Errorf("clean the machine: %w", err)
	}
	if err := parse(out).Err(); err != nil {
		return err
	}
	if _, err := run(ctx, sh, shortLimit, finishScript); err != nil {
		return fmt.Errorf("remove the files of BPA: %w", err)
	}
	report, err := Inspect(ctx, sh)
	if err != nil {
		return err
	}
	return report.Err()
}

// run runs a script. The last line of the script's output must be "end", because the output of a
// script that was killed would otherwise look like that of a clean machine.
func run(ctx context.Context, sh Shell, limit time.Duration, script string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out, err := sh(ctx, script)
	if err != nil {
		return "", err
	}
	text, whole := strings.CutSuffix(string(out), "end\n")
	if !whole || text != "" && !strings.HasSuffix(text, "\n") {
		return "", errNoReport
	}
	return text, nil
}
