package kubespray

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

// visit is the result of connecting to a node.
type visit struct {
	key    ssh.HostKey
	system string // operating system, such as debian-12; empty: not known
	report machine.Report
	notes  []string
	err    error
}

// contact is what the task knows about the nodes after it has connected to them.
type contact struct {
	pins   ssh.Pins
	record *record
	states contract.HostStates // before this run
	nodes  []contract.Node     // to which the task connects
	visits []visit             // in the order of nodes
}

// recall reads what earlier runs have stored about the hosts.
func recall(ctx context.Context, in Input, ports Ports) (contact, error) {
	text, err := ports.KnownHosts.Get(ctx, contract.KeyKnownHosts)
	if err != nil {
		return contact{}, task.Because(kube.Reason(err), err)
	}
	pins, err := node.ParsePins(in.Request, text)
	if err != nil {
		return contact{}, err
	}
	record, err := readRecord(ctx, ports.Installed, pins)
	if err != nil {
		return contact{}, err
	}
	return contact{pins: pins, record: record, states: record.snapshot(), nodes: in.Nodes}, nil
}

// preflight connects to every node before any node is changed. Within seconds it reports a host
// that is down, rejects the login, is the wrong machine, or has a Kubernetes of another owner. It
// stores the host key of a new node even if another node fails.
func preflight(ctx context.Context, in Input, key ssh.Key, ports Ports) (contact, error) {
	c, err := recall(ctx, in, ports)
	if err != nil {
		return c, err
	}
	fmt.Fprintf(ports.Log, "Connecting to %s by SSH as user %s\n", some(len(in.Nodes), "node"), in.Request.SSHUser)
	c.visits = visitAll(ctx, in, ports.Log, c.patience(in), func(n contract.Node) visit {
		v := probeNode(ctx, in, n, key, c.expected(in, n), ports)
		if v.err == nil {
			v.err = c.checkFree(in, n, v.report)
		}
		return v
	})
	if err := c.pin(ctx, in, ports); err != nil {
		return c, err
	}
	logVisits(in, c.visits, ports.Log)
	return c, worst(in, c.visits)
}

// expected returns the host key that a node must have; nil: the task accepts any key. A host that
// was imaged again has a new key, but keeps its UID. Its old pin does not count then: since the last
// reset, no playbook has run on the host, and its MAC address still proves which machine it is.
func (c contact) expected(in Input, n contract.Node) ssh.HostKey {
	if in.Request.OSImage != nil && c.states[n.HostUID] != contract.HostUsed && len(machine.MACs(n.MACs)) > 0 {
		return nil
	}
	return c.pins.Of(n.HostUID)
}

// pin stores the host keys of the nodes that have passed all checks.
func (c *contact) pin(ctx context.Context, in Input, ports Ports) error {
	for i, n := range in.Nodes {
		if v := &c.visits[i]; v.err == nil {
			v.notes = append([]string{greeting(c.pins.Of(n.HostUID), v.key)}, v.notes...)
			c.pins = c.pins.With(ssh.Pin{UID: n.HostUID, Host: n.Host, At: node.Target(in.Request, n).HostPort(), Key: v.key})
		}
	}
	if err := c.record.begin(ctx); err != nil {
		return err
	}
	if err := ports.KnownHosts.Set(ctx, contract.KeyKnownHosts, c.pins.String()); err != nil {
		return task.Because(kube.Reason(err), err)
	}
	return nil
}

// each calls do for the numbers 0 to n-1. At most manyAtOnce calls run in parallel.
func each(n int, do func(i int)) {
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
// from the pinned one is new: see contact.expected.
func greeting(pinned, seen ssh.HostKey) string {
	switch {
	case pinned == nil:
		return "first contact, its host key is now pinned: " + ssh.Fingerprint(seen)
	case !bytes.Equal(pinned.Marshal(), seen.Marshal()):
		return fmt.Sprintf("its operating system is new: its host key %s replaces the pinned %s", ssh.Fingerprint(seen), ssh.Fingerprint(pinned))
	}
	return "the host key is the pinned one"
}

// logVisits writes a line for each node of the input: its address, and what its visit has found.
func logVisits(in Input, visits []visit, log io.Writer) {
	for i, n := range in.Nodes {
		notes := visits[i].notes
		if visits[i].err != nil {
			notes = append([]string{visits[i].err.Error()}, notes...)
		}
		fmt.Fprintf(log, "  %-16s %-22s %s\n", n.Name, node.Target(in.Request, n).HostPort(), strings.Join(notes, "; "))
	}
}

// probeNode checks that a node answers, accepts the login, is the right machine, lets the user
// become root, and runs the requested operating system. Then it inspects what is on the machine. It
// changes nothing on the node.
func probeNode(ctx context.Context, in Input, n contract.Node, key ssh.Key, pinned ssh.HostKey, ports Ports) (v visit) {
	conn, err := dial(ctx, in, n, key, pinned, ports)
	if err != nil {
		return visit{err: err}
	}
	defer conn.Close()
	connected, cancel := context.WithTimeout(ctx, in.ConnectLimit)
	defer cancel()
	v.key = conn.HostKey()
	note, err := checkMachine(connected, in, n, conn)
	if err != nil {
		return visit{err: err}
	}
	if note != "" {
		v.notes = append(v.notes, note)
	}
	var exit *ssh.ExitError
	if _, err := conn.Output(connected, node.AsRoot(in.Request, "true"), 64<<10); errors.As(err, &exit) {
		return visit{err: fmt.Errorf("%w: user %s cannot become root by sudo without a password (%w)", ssh.ErrDenied, in.Request.SSHUser, exit)}
	} else if err != nil {
		return visit{err: err}
	}
	if v.system, err = checkSystem(connected, in.Request, conn); err != nil {
		return visit{err: err}
	}
	if v.report, err = ports.Machines.Inspect(ctx, node.Shell(in.Request, conn)); err != nil && !errors.Is(err, ssh.ErrUnreachable) {
		err = fmt.Errorf("%w: %w", errNotInspected, err)
	}
	v.err = err
	return v
}
