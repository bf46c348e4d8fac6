package kubespray

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/akraino-icn/bpa/pkg/contract"
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
	notes  []string
	err    error
}

// preflight connects to every node before any node is changed. Within seconds it reports a host
// that is down, rejects the login or is the wrong machine. It returns the pinned host keys of all
// nodes. It stores the host key of a new node even if another node fails. If no node fails, it
// installs the depot's certificate on the nodes and configures the depot as their package source.
func preflight(ctx context.Context, in Input, key ssh.Key, ports Ports) (ssh.Pins, error) {
	text, err := ports.KnownHosts.Get(ctx, contract.KeyKnownHosts)
	if err != nil {
		return nil, task.Because(kube.Reason(err), err)
	}
	pins, err := ssh.ParsePins(text)
	if err != nil {
		return nil, task.Because(contract.ReasonInvalidRequest,
			fmt.Errorf("ConfigMap %s: %w", contract.KnownHostsName(in.Request.Provisioning), err))
	}
	fmt.Fprintf(ports.Log, "Connecting to %s by SSH as user %s\n", some(len(in.Nodes), "node"), in.Request.SSHUser)
	visits := make([]visit, len(in.Nodes))
	each(in.Nodes, func(i int, n contract.Node) { visits[i] = probeNode(ctx, in, n, key, pins.Of(n.HostUID), ports) })
	for i, n := range in.Nodes {
		if v := &visits[i]; v.err == nil {
			v.notes = append([]string{greeting(pins.Of(n.HostUID), v.key)}, v.notes...)
			pins = pins.With(ssh.Pin{UID: n.HostUID, Host: n.Host, At: node.Target(in.Request, n).HostPort(), Key: v.key})
		}
	}
	if err := ports.KnownHosts.Set(ctx, contract.KeyKnownHosts, pins.String()); err != nil {
		return nil, task.Because(kube.Reason(err), err)
	}
	if !slices.ContainsFunc(visits, func(v visit) bool { return v.err != nil }) {
		each(in.Nodes, func(i int, n contract.Node) { equip(ctx, in, n, key, &visits[i], ports) })
	}
	logVisits(in, visits, ports.Log)
	return pins, worst(in, visits)
}

// each calls visit for every node. At most manyAtOnce calls run in parallel.
func each(nodes []contract.Node, visit func(i int, n contract.Node)) {
	var group errgroup.Group
	group.SetLimit(manyAtOnce)
	for i, n := range nodes {
		group.Go(func() error {
			visit(i, n)
			return nil
		})
	}
	_ = group.Wait()
}

// greeting describes, for the log, whether the node's host key was pinned before.
func greeting(pinned, seen ssh.HostKey) string {
	if pinned == nil {
		return "first contact, its host key is now pinned: " + ssh.Fingerprint(seen)
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
// become root, and runs the requested operating system. It changes nothing on the node.
func probeNode(ctx context.Context, in Input, n contract.Node, key ssh.Key, pinned ssh.HostKey, ports Ports) (v visit) {
	ctx, cancel := context.WithTimeout(ctx, in.ConnectLimit)
	defer cancel()
	conn, err := ports.Dial(ctx, node.Target(in.Request, n), key, pinned)
	if err != nil {
		return visit{err: err}
	}
	defer conn.Close()
	v.key = conn.HostKey()
	note, err := checkMachine(ctx, in, n, conn)
	if err != nil {
		return visit{err: err}
	}
	if note != "" {
		v.notes = append(v.notes, note)
	}
	var exit *ssh.ExitError
	if _, err := conn.Output(ctx, node.AsRoot(in.Request, "true"), 64<<10); errors.As(err, &exit) {
		return visit{err: fmt.Errorf("%w: user %s cannot become root by sudo without a password (%w)", ssh.ErrDenied, in.Request.SSHUser, exit)}
	} else if err != nil {
		return visit{err: err}
	}
	v.system, v.err = checkSystem(ctx, in.Request, conn)
	return v
}

// equip installs the depot's certificate on a node and configures the depot as its package source.
// It accepts only the host key that probeNode has seen. This makes sure that it changes the machine
// that probeNode has checked.
func equip(ctx context.Context, in Input, n contract.Node, key ssh.Key, v *visit, ports Ports) {
	connect, cancel := context.WithTimeout(ctx, in.ConnectLimit)
	defer cancel()
	conn, err := ports.Dial(connect, node.Target(in.Request, n), key, v.key)
	if err != nil {
		v.err = err
		return
	}
	defer conn.Close()
	if v.err = trust(ctx, in.Request, conn); v.err != nil {
		return
	}
	note, err := packageSource(ctx, in.Request, conn, v.system)
	if v.err = err; note != "" {
		v.notes = append(v.notes, note)
	}
}

// reason returns the failure reason of the error of a visit.
func reason(err error) contract.Reason {
	switch {
	case errors.Is(err, errWrongMachine):
		return contract.ReasonWrongMachine
	case errors.Is(err, errOtherSystem):
		return contract.ReasonInvalidRequest
	case errors.Is(err, errNoTrust), errors.Is(err, errNoSource):
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
		contract.ReasonHostUnreachable, contract.ReasonDepotUnavailable, contract.ReasonPlaybookFailed, contract.ReasonSSHDenied,
		contract.ReasonInvalidRequest, contract.ReasonHostKeyChanged, contract.ReasonWrongMachine,
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
	if len(others) > 0 {
		names := make([]string, len(others))
		for i, other := range others {
			names[i] = in.Nodes[other].Name
		}
		message += fmt.Sprintf(" %s failed too: %s.", some(len(others), "more node"), task.Cut(strings.Join(names, ", "), 200))
	}
	return &task.Error{Reason: reason(err), Host: n.Name, Step: "connect by SSH", Err: errors.New(message)}
}

// advice tells the user what to do about the error of a node.
func advice(in Input, n contract.Node, err error) string {
	switch reason(err) {
	case contract.ReasonWrongMachine:
		return "Nothing was changed. Correct the host's IP address at its source (the host's network data, or DHCP). " +
			"If this machine is the right one, correct spec.bootMACAddress of the BareMetalHost."
	case contract.ReasonInvalidRequest:
		return "Use hosts with that system, or correct spec.operatingSystem."
	case contract.ReasonDepotUnavailable:
		return "Check that the depot is running and that the node can reach it. Its address is set in spec.depot.url, or in depot-url of ConfigMap config-bpa."
	case contract.ReasonHostKeyChanged:
		return fmt.Sprintf("If you reinstalled the machine, remove its line (it ends in %q) with: kubectl -n %s edit configmap %s. If not, find out which machine answers at this address.",
			n.Host, in.Request.Namespace, contract.KnownHostsName(in.Request.Provisioning))
	case contract.ReasonPlaybookFailed:
		if errors.Is(err, errNoSource) {
			return "Make sure that user root can write " + aptSource + " and " + aptConfig + " on the nodes."
		}
		return "Make sure that the OS image of the nodes contains the package ca-certificates, which is needed to install the depot's certificate."
	case contract.ReasonSSHDenied:
		return "Add the public key that belongs to the private key in the SSH Secret to the host, or correct spec.ssh."
	}
	return "Check that the machine is on and that its SSH server runs."
}
