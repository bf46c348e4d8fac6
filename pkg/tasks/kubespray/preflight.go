package kubespray

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
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

// reason returns the failure reason of the error of a visit.
func reason(err error) contract.Reason {
	switch {
	case errors.Is(err, errWrongMachine):
		return contract.ReasonWrongMachine
	case errors.Is(err, errOccupied):
		return contract.ReasonHostOccupied
	case errors.Is(err, errOtherSystem):
		return contract.ReasonInvalidRequest
	case errors.Is(err, errNotInspected):
		return contract.ReasonInternal
	case errors.Is(err, errNoTrust), errors.Is(err, errNoSource), errors.Is(err, errRefused), errors.Is(err, errNotMarked), errors.Is(err, errNoState):
		return contract.ReasonPlaybookFailed
	case errors.Is(err, errNoDepot):
		return contract.ReasonDepotUnavailable
	}
	return node.Reason(err)
}

// rank orders errors by their failure reason. An error with a higher rank is more important to the
// user.
func rank(err error) int {
	return slices.Index([]contract.Reason{
		contract.ReasonHostUnreachable, contract.ReasonDepotUnavailable, contract.ReasonInternal, contract.ReasonPlaybookFailed,
		contract.ReasonSSHDenied, contract.ReasonInvalidRequest, contract.ReasonHostKeyChanged, contract.ReasonHostOccupied,
		contract.ReasonWrongMachine,
	}, reason(err))
}

// worst returns the error with the highest rank, and adds the names of the other nodes that failed.
// It returns nil if no node failed.
func worst(in Input, visits []visit) error {
	var bad []int
	for i := range visits {
		if visits[i].err != nil {
			bad = append(bad, i)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	slices.SortStableFunc(bad, func(a, b int) int {
		return cmp.Compare(rank(visits[b].err), rank(visits[a].err))
	})
	first, others := bad[0], bad[1:]
	err, n := visits[first].err, in.Nodes[first]
	message := fmt.Sprintf("%s at %s: %v. %s", n.Host, node.Target(in.Request, n).HostPort(), err, advice(in, n, err))
	names := make([]string, len(others))
	var same []string // failed for the same reason
	for i, other := range others {
		names[i] = in.Nodes[other].Name
		if reason(visits[other].err) == reason(err) {
			same = append(same, names[i])
		}
	}
	if len(others) > 0 {
		message += fmt.Sprintf(" %s failed too: %s.", some(len(others), "more node"), task.Cut(strings.Join(names, ", "), 200))
	}
	return &task.Error{Reason: reason(err), Host: n.Name, Step: "connect by SSH", Err: errors.New(message), Others: same}
}

// advice tells the user what to do about the error of a node.
func advice(in Input, n contract.Node, err error) string {
	switch reason(err) {
	case contract.ReasonWrongMachine:
		return "Nothing was changed. Correct the host's IP address at its source (the host's network data, or DHCP). " +
			"If this machine is the right one, correct spec.bootMACAddress of the BareMetalHost."
	case contract.ReasonHostOccupied:
		// The host is held by this Provisioning, and the reset accepts only free hosts. The text is
		// short, because task.FailureOf cuts the end of a long message.
		return fmt.Sprintf("Nothing was changed on any node. If that cluster is needed, use another host. If not, release the host and remove that cluster: "+
			`kubectl patch bmh %s -n %s --type=merge -p '{"spec":{"consumerRef":null}}', then kubectl bpa hosts reset %s -n %s --force.`,
			n.Host, in.Request.HostNamespace(), n.Host, in.Request.HostNamespace())
	case contract.ReasonInternal:
		return "Log in to the machine and find out why the command fails there."
	case contract.ReasonInvalidRequest:
		return "Use hosts with that system, or correct spec.operatingSystem."
	case contract.ReasonDepotUnavailable:
		return "Check that the depot is running and that the node can reach it. Its address is set in spec.depot.url, or in depot-url of ConfigMap config-bpa."
	case contract.ReasonHostKeyChanged:
		return fmt.Sprintf("If you reinstalled the machine, remove its line (it ends in %q) with: kubectl -n %s edit configmap %s. If not, find out which machine answers at this address.",
			n.Host, in.Request.Namespace, contract.KnownHostsName(in.Request.Provisioning))
	case contract.ReasonPlaybookFailed:
		if errors.Is(err, errNotMarked) {
			return "Make sure that user root can write to /etc/bpa on the nodes."
		}
		if errors.Is(err, errNoState) {
			return "Make sure that user root can write " + stateUnit + " on the nodes, and that systemctl daemon-reload works there."
		}
		if errors.Is(err, errNoSource) {
			return "Make sure that user root can write " + aptSource + " and " + aptConfig + " on the nodes."
		}
		if errors.Is(err, errRefused) {
			return "Compare the clocks of the node and of the depot. If they agree, the troubleshooting table of docs/depot.md has the messages of apt."
		}
		return "Make sure that the OS image of the nodes contains the package ca-certificates, which is needed to install the depot's certificate."
	case contract.ReasonSSHDenied:
		return "Add the public key that belongs to the private key in the SSH Secret to the host, or correct spec.ssh."
	}
	return "Check that the machine is on and that its SSH server runs."
}
