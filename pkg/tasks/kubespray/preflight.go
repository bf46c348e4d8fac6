package kubespray

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/apierror"
	"github.com/akraino-icn/bpa/pkg/tasks/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/outcome"
)

// manyAtOnce bounds how many nodes are connected to at a time.
const manyAtOnce = 32

// preflight connects to every node, so that a host that is down, refuses us or is not the one it was is named within seconds and before
// anything was changed. It returns the pinned host keys of all nodes; new ones are stored even if another node fails.
func preflight(ctx context.Context, in Input, key ssh.Key, ports Ports) (ssh.Pins, error) {
	text, err := ports.KnownHosts.Get(ctx, contract.KeyKnownHosts)
	if err != nil {
		return nil, outcome.Because(apierror.Reason(err), err)
	}
	pins, err := ssh.ParsePins(text)
	if err != nil {
		return nil, outcome.Because(contract.ReasonInvalidRequest,
			fmt.Errorf("ConfigMap %s: %w", contract.KnownHostsName(in.Request.Provisioning), err))
	}
	fmt.Fprintf(ports.Log, "Connect to %s by SSH as %s\n", some(len(in.Nodes), "node"), in.Request.SSHUser)
	seen := make([]ssh.HostKey, len(in.Nodes))
	notes := make([]string, len(in.Nodes))
	failed := make([]error, len(in.Nodes))
	var group errgroup.Group
	group.SetLimit(manyAtOnce)
	for i, n := range in.Nodes {
		group.Go(func() error {
			seen[i], notes[i], failed[i] = knock(ctx, in, n, key, pins.Of(n.HostUID), ports)
			return nil
		})
	}
	_ = group.Wait()

	for i, n := range in.Nodes {
		says, at := "as pinned", node.Target(in.Request, n).HostPort()
		switch {
		case failed[i] != nil:
			says = failed[i].Error()
		case pins.Of(n.HostUID) == nil:
			says = "first contact, its host key is pinned: " + ssh.Fingerprint(seen[i])
		}
		if notes[i] != "" {
			says += "; " + notes[i]
		}
		fmt.Fprintf(ports.Log, "  %-16s %-22s %s\n", n.Name, at, says)
		if failed[i] == nil {
			pins = pins.With(ssh.Pin{UID: n.HostUID, Host: n.Host, At: at, Key: seen[i]})
		}
	}
	if err := ports.KnownHosts.Set(ctx, contract.KeyKnownHosts, pins.String()); err != nil {
		return nil, outcome.Because(apierror.Reason(err), err)
	}
	return pins, worst(in, failed)
}

// knock tells whether a node can be worked on: it answers, it is the one it was, it lets us in, we can be root there, and it runs what was asked
// for. Then the node is made to trust the depot and to get its packages there; the note says so.
func knock(ctx context.Context, in Input, n contract.Node, key ssh.Key, pinned ssh.HostKey, ports Ports) (seen ssh.HostKey, note string, err error) {
	connect, cancel := context.WithTimeout(ctx, in.ConnectLimit)
	defer cancel()
	conn, err := ports.Dial(connect, node.Target(in.Request, n), key, pinned)
	if err != nil {
		return nil, "", err
	}
	defer conn.Close()
	var exit *ssh.ExitError
	if _, err := conn.Output(connect, node.AsRoot(in.Request, "true"), 64<<10); errors.As(err, &exit) {
		return nil, "", fmt.Errorf("%w: user %s cannot become root by sudo without a password (%w)", ssh.ErrDenied, in.Request.SSHUser, exit)
	} else if err != nil {
		return nil, "", err
	}
	system, err := checkSystem(connect, in.Request, conn)
	if err != nil {
		return nil, "", err
	}
	if err := trust(ctx, in.Request, conn); err != nil {
		return nil, "", err
	}
	note, err = packageSource(ctx, in.Request, conn, system)
	return conn.HostKey(), note, err
}

// reason is why a node cannot be worked on.
func reason(err error) contract.Reason {
	switch {
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
		contract.ReasonInvalidRequest, contract.ReasonHostKeyChanged,
	}, reason(err))
}

// worst tells of the node that needs a person most, and names the others.
func worst(in Input, failed []error) error {
	var bad []int
	for i, err := range failed {
		if err != nil {
			bad = append(bad, i)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	slices.SortStableFunc(bad, func(a, b int) int {
		return cmp.Compare(rank(failed[b]), rank(failed[a]))
	})
	first, others := bad[0], bad[1:]
	why, n := reason(failed[first]), in.Nodes[first]
	message := fmt.Sprintf("%s at %s: %v. %s", n.Host, node.Target(in.Request, n).HostPort(), failed[first], advice(in, n, failed[first]))
	if len(others) > 0 {
		names := make([]string, len(others))
		for i, other := range others {
			names[i] = in.Nodes[other].Name
		}
		message += fmt.Sprintf(" And %s: %s.", some(len(others), "more node"), outcome.Cut(strings.Join(names, ", "), 200))
	}
	return &outcome.Error{Reason: why, Host: n.Name, Step: "connect by SSH", Err: errors.New(message)}
}

// advice says what to do next.
func advice(in Input, n contract.Node, err error) string {
	switch reason(err) {
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
