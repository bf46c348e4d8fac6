package prepare

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Nodes prepares all nodes of the input for the playbook; c has their visits, in this order. On every machine it writes whose cluster the machine
// gets, installs the depot's certificate, configures the depot as the package source, lets the
// kubelet start after a change of its policies, and lets the machine resolve its node's name. The hosts must be HostUsed in the record already,
// because Nodes changes them.
func Nodes(ctx context.Context, in session.Input, key ssh.Key, c session.Contact, ports session.Ports) error {
	aptKey, err := packageKey(ctx, in, ports)
	if err != nil {
		return err
	}
	visits := make([]session.Visit, len(in.Nodes))
	session.Each(len(in.Nodes), func(i int) {
		visits[i].Notes, visits[i].Err = equipNode(ctx, in, in.Nodes[i], key, aptKey, c.Visits[i], ports)
	})
	for i, n := range in.Nodes {
		if notes := visits[i].Notes; len(notes) > 0 {
			fmt.Fprintf(ports.Log, "  %-16s %s\n", n.Name, strings.Join(notes, "; "))
		}
	}
	return session.Worst(in, visits)
}

// equipNode prepares one node. It accepts only the host key that session.ProbeNode has seen. This makes sure
// that it changes the machine that session.ProbeNode has checked.
func equipNode(ctx context.Context, in session.Input, n contract.Node, key ssh.Key, aptKey []byte, seen session.Visit, ports session.Ports) (notes []string, err error) {
	conn, err := session.Dial(ctx, in, n, key, seen.Key, ports)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := ports.Machines.Mark(ctx, node.Shell(in.Request, conn), in.Request.User()); err != nil {
		return nil, fmt.Errorf("%w: %w", session.ErrNotMarked, err)
	}
	if err := trust(ctx, in.Request, conn); err != nil {
		return nil, err
	}
	if err := keepStarting(ctx, in.Request, conn); err != nil {
		return nil, err
	}
	if err := giveAddress(ctx, in, n, conn); err != nil {
		return nil, err
	}
	name, err := resolveOwnName(ctx, in.Request, conn, n)
	if err != nil {
		return nil, err
	}
	source, err := packageSource(ctx, in.Request, aptKey, conn, seen.System)
	return slices.DeleteFunc([]string{source, name}, func(note string) bool { return note == "" }), err
}

// packageKey returns the public key that signs the depot's indexes of OS packages. It is nil if there is no
// depot, or if the depot has no such key.
func packageKey(ctx context.Context, in session.Input, ports session.Ports) ([]byte, error) {
	if in.Request.DepotURL == "" {
		return nil, nil
	}
	key, err := ports.PackageKey(ctx, in.Request)
	if err != nil {
		return nil, &task.Error{Reason: contract.ReasonDepotUnavailable, Step: "get the depot's key for OS packages", Err: fmt.Errorf(
			"the depot at %s does not answer with the key for OS packages: %w. Check that the depot is running. Its address is set in spec.depot.url, or in depot-url of ConfigMap config-bpa", in.Request.DepotURL, err)}
	}
	return key, nil
}

// Present prepares the kubelets and the package sources of nodes of the cluster that the playbook
// configures again, but on which the run changes nothing else. c has these nodes.
func Present(ctx context.Context, in session.Input, key ssh.Key, c session.Contact, ports session.Ports) error {
	if len(c.Nodes) == 0 {
		return nil
	}
	aptKey, err := packageKey(ctx, in, ports)
	if err != nil {
		return err
	}
	visits := make([]session.Visit, len(c.Nodes))
	session.Each(len(c.Nodes), func(i int) {
		visits[i].Err = func() error {
			conn, err := session.Dial(ctx, in, c.Nodes[i], key, c.Visits[i].Key, ports)
			if err != nil {
				return err
			}
			defer conn.Close()
			if err := keepStarting(ctx, in.Request, conn); err != nil {
				return err
			}
			if err := giveAddress(ctx, in, c.Nodes[i], conn); err != nil {
				return err
			}
			_, err = packageSource(ctx, in.Request, aptKey, conn, c.Visits[i].System)
			return err
		}()
	})
	return session.Worst(in.For(c.Nodes), visits)
}
