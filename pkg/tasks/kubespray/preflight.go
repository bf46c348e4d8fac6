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

// manyAtOnce bounds how many nodes are connected to at a time.
const manyAtOnce = 32

// visit is what was seen of a node.
type visit struct {
	key    ssh.HostKey
	system string // what it runs, such as debian-12; empty: not known
	notes  []string
	err    error
}

// preflight connects to every node, so that a host that is down, refuses us or is not the right machine is named within seconds and before
// anything was changed on any of them. It returns the pinned host keys of all nodes; new ones are stored even if another node fails. Then it makes the
// nodes trust the depot and get their packages there.
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
	fmt.Fprintf(ports.Log, "Connect to %s by SSH as %s\n", some(len(in.Nodes), "node"), in.Request.SSHUser)
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

// each visits the nodes, some at a time.
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

// greeting describes a host key.
func greeting(pinned, seen ssh.HostKey) string {
	if pinned == nil {
		return "first contact, its host key is pinned: " + ssh.Fingerprint(seen)
	}
	return "as pinned"
}

func logVisits(in Input, visits []visit, log io.Writer) {
	for i, n := range in.Nodes {
		says := visits[i].notes
		if visits[i].err != nil {
			says = append([]string{visits[i].err.Error()}, says...)
		}
		fmt.Fprintf(log, "  %-16s %-22s %s\n", n.Name, node.Target(in.Request, n).HostPort(), strings.Join(says, "; "))
	}
}

// probeNode finds out whether a node can be worked on: it answers, it is the right machine, it lets us in, we can be root there, and it runs what was asked
// for. It changes nothing.
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

// equip makes a node trust the depot and get its packages there. It talks to the machine that was looked at: the one with the same host key.
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

// reason is why a node cannot be worked on.
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

// rank orders reasons by how much a person is needed.
func rank(err error) int {
	return slices.Index([]contract.Reason{
		contract.ReasonHostUnreachable, contract.ReasonDepotUnavailable, contract.ReasonPlaybookFailed, contract.ReasonSSHDenied,
		contract.ReasonInvalidRequest, contract.ReasonHostKeyChanged, contract.ReasonWrongMachine,
	}, reason(err))
}

// worst tells of the node that needs a person most, and names the others.
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
		message += fmt.Sprintf(" And %s: %s.", some(len(others), "more node"), task.Cut(strings.Join(names, ", "), 200))
	}
	return &task.Error{Reason: reason(err), Host: n.Name, Step: "connect by SSH", Err: errors.New(message)}
}

// advice says what to do next.
func advice(in Input, n contract.Node, err error) string {
	switch reason(err) {
	case contract.ReasonWrongMachine:
		return "Nothing was changed. Correct the host's address where it comes from (its network data, or DHCP); if the machine is the right one, correct spec.bootMACAddress."
	case contract.ReasonInvalidRequest:
		return "Take hosts with that system, or correct spec.operatingSystem."
	case contract.ReasonDepotUnavailable:
		return "Is the depot up, and does the node get there? The address is spec.depot.url, or depot-url in ConfigMap config-bpa."
	case contract.ReasonHostKeyChanged:
		return fmt.Sprintf("If the machine was installed anew on purpose, remove its line (it ends in %q) with: kubectl -n %s edit configmap %s; if not, something else answers at its address.",
			n.Host, in.Request.Namespace, contract.KnownHostsName(in.Request.Provisioning))
	case contract.ReasonPlaybookFailed:
		if errors.Is(err, errNoSource) {
			return "The nodes must be able to write " + aptSource + " and " + aptConfig + "."
		}
		return "The nodes must be able to take over the depot's certificate; with the package ca-certificates in the OS image they are."
	case contract.ReasonSSHDenied:
		return "Put the public half of the SSH Secret's key on the host, or set spec.ssh."
	}
	return "Is the machine on, and its SSH server up?"
}
