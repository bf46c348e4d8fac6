package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/kube"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// manyAtOnce bounds the number of nodes to which the task connects in parallel.
const manyAtOnce = 32

// Visit is the result of connecting to a node.
type Visit struct {
	Key    ssh.HostKey
	System string // operating system, such as debian-12; empty: not known
	Report machine.Report
	Notes  []string
	Err    error
}

// Contact is what the task knows about the nodes after it has connected to them.
type Contact struct {
	Pins   ssh.Pins
	Record *HostRecord
	States contract.HostStates // before this run
	Nodes  []contract.Node     // to which the task connects
	Visits []Visit             // in the order of Nodes; nil: not visited yet
}

// Recall reads what earlier runs have stored about the hosts.
func Recall(ctx context.Context, in Input, ports Ports) (Contact, error) {
	text, err := ports.KnownHosts.Get(ctx, contract.KeyKnownHosts)
	if err != nil {
		return Contact{}, task.Because(kube.Reason(err), err)
	}
	pins, err := node.ParsePins(in.Request, text)
	if err != nil {
		return Contact{}, err
	}
	record, err := ReadHostRecord(ctx, ports.Installed, pins)
	if err != nil {
		return Contact{}, err
	}
	return Contact{Pins: pins, Record: record, States: record.Snapshot(), Nodes: in.Nodes}, nil
}

// Preflight connects to every node before any node is changed. Within seconds it reports a host
// that is down, rejects the login, is the wrong machine, or has a Kubernetes of another owner. It
// stores the host key of a new node even if another node fails.
func Preflight(ctx context.Context, in Input, key ssh.Key, ports Ports) (Contact, error) {
	c, err := Recall(ctx, in, ports)
	if err != nil {
		return c, err
	}
	fmt.Fprintf(ports.Log, "Connecting to %s by SSH as user %s\n", Count(len(in.Nodes), "node"), in.Request.SSHUser)
	c.Visits = VisitAll(ctx, in, ports.Log, c.patience(in), func(n contract.Node) Visit {
		v := ProbeNode(ctx, in, n, key, c.Expected(in, n), ports)
		if v.Err == nil {
			v.Err = c.CheckFree(in, n, v.Report)
		}
		return v
	})
	if err := c.pin(ctx, in, ports); err != nil {
		return c, err
	}
	LogVisits(in, c.Visits, ports.Log)
	return c, Worst(in, c.Visits)
}

// Expected returns the host key that a node must have; nil: the task accepts any key. A host that
// was imaged again has a new key, but keeps its UID. Its old pin does not count then: since the last
// reset, no playbook has run on the host, and its MAC address still proves which machine it is.
func (c Contact) Expected(in Input, n contract.Node) ssh.HostKey {
	if in.Request.OSImage != nil && c.States[n.HostUID] != contract.HostUsed && len(machine.MACs(n.MACs)) > 0 {
		return nil
	}
	return c.Pins.Of(n.HostUID)
}

// pin stores the host keys of the nodes that have passed all checks.
func (c *Contact) pin(ctx context.Context, in Input, ports Ports) error {
	for i, n := range in.Nodes {
		if v := &c.Visits[i]; v.Err == nil {
			v.Notes = append([]string{greeting(c.Pins.Of(n.HostUID), v.Key)}, v.Notes...)
			c.Pins = c.Pins.With(ssh.Pin{UID: n.HostUID, Host: n.Host, At: node.Target(in.Request, n).HostPort(), Key: v.Key})
		}
	}
	if err := c.Record.Begin(ctx); err != nil {
		return err
	}
	if err := ports.KnownHosts.Set(ctx, contract.KeyKnownHosts, c.Pins.String()); err != nil {
		return task.Because(kube.Reason(err), err)
	}
	return nil
}

// Each calls do for the numbers 0 to n-1. At most manyAtOnce calls run in parallel.
func Each(n int, do func(i int)) {
	var group errgroup.Group
	group.SetLimit(manyAtOnce)
	for i := range n {
		group.Go(func() error {
			do(i)
			return nil
		})
	}
	_ = group.Wait()
}

// greeting describes, for the log, whether the node's host key was pinned before. A key that differs
// from the pinned one is new: see Contact.Expected.
func greeting(pinned, seen ssh.HostKey) string {
	switch {
	case pinned == nil:
		return "first contact, its host key is now pinned: " + ssh.Fingerprint(seen)
	case !bytes.Equal(pinned.Marshal(), seen.Marshal()):
		return fmt.Sprintf("its operating system is new: its host key %s replaces the pinned %s", ssh.Fingerprint(seen), ssh.Fingerprint(pinned))
	}
	return "the host key is the pinned one"
}

// LogVisits writes a line for each node of the input: its address, and what its visit has found.
func LogVisits(in Input, visits []Visit, log io.Writer) {
	for i, n := range in.Nodes {
		notes := visits[i].Notes
		if visits[i].Err != nil {
			notes = append([]string{visits[i].Err.Error()}, notes...)
		}
		fmt.Fprintf(log, "  %-16s %-22s %s\n", n.Name, node.Target(in.Request, n).HostPort(), strings.Join(notes, "; "))
	}
}

// ProbeNode checks that a node answers, accepts the login, is the right machine, lets the user
// become root, and runs the requested operating system. Then it inspects what is on the machine. It
// changes nothing on the node.
func ProbeNode(ctx context.Context, in Input, n contract.Node, key ssh.Key, pinned ssh.HostKey, ports Ports) (v Visit) {
	conn, err := Dial(ctx, in, n, key, pinned, ports)
	if err != nil {
		return Visit{Err: err}
	}
	defer conn.Close()
	connected, cancel := context.WithTimeout(ctx, in.ConnectLimit)
	defer cancel()
	v.Key = conn.HostKey()
	note, err := checkMachine(connected, in, n, conn)
	if err != nil {
		return Visit{Err: err}
	}
	if note != "" {
		v.Notes = append(v.Notes, note)
	}
	var exit *ssh.ExitError
	if _, err := conn.Output(connected, node.AsRoot(in.Request, "true"), 64<<10); errors.As(err, &exit) {
		return Visit{Err: fmt.Errorf("%w: user %s cannot become root by sudo without a password (%w)", ssh.ErrDenied, in.Request.SSHUser, exit)}
	} else if err != nil {
		return Visit{Err: err}
	}
	if v.System, err = checkSystem(connected, in.Request, conn); err != nil {
		return Visit{Err: err}
	}
	if v.Report, err = ports.Machines.Inspect(ctx, node.Shell(in.Request, conn)); err != nil && !errors.Is(err, ssh.ErrUnreachable) {
		err = fmt.Errorf("%w: %w", errNotInspected, err)
	}
	v.Err = err
	return v
}
