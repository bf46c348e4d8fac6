package kubespray

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// equip prepares all nodes for the playbook. On every machine it writes whose cluster the machine
// gets, installs the depot's certificate, configures the depot as the package source, lets the
// kubelet start after a change of its policies, and lets the machine resolve its node's name. The hosts must be HostUsed in the record already,
// because equip changes them.
func equip(ctx context.Context, in Input, key ssh.Key, c contact, ports Ports) error {
	aptKey, err := packageKey(ctx, in, ports)
	if err != nil {
		return err
	}
	visits := make([]visit, len(in.Nodes))
	each(len(in.Nodes), func(i int) {
		visits[i].notes, visits[i].err = equipNode(ctx, in, in.Nodes[i], key, aptKey, c.visits[i], ports)
	})
	for i, n := range in.Nodes {
		if notes := visits[i].notes; len(notes) > 0 {
			fmt.Fprintf(ports.Log, "  %-16s %s\n", n.Name, strings.Join(notes, "; "))
		}
	}
	return worst(in, visits)
}

// equipNode prepares one node. It accepts only the host key that probeNode has seen. This makes sure
// that it changes the machine that probeNode has checked.
func equipNode(ctx context.Context, in Input, n contract.Node, key ssh.Key, aptKey []byte, seen visit, ports Ports) (notes []string, err error) {
	conn, err := dial(ctx, in, n, key, seen.key, ports)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := ports.Machines.Mark(ctx, node.Shell(in.Request, conn), in.Request.User()); err != nil {
		return nil, fmt.Errorf("%w: %w", errNotMarked, err)
	}
	if err := trust(ctx, in.Request, conn); err != nil {
		return nil, err
	}
	if err := keepStarting(ctx, in.Request, conn); err != nil {
		return nil, err
	}
	name, err := resolveOwnName(ctx, in.Request, conn, n)
	if err != nil {
		return nil, err
	}
	source, err := packageSource(ctx, in.Request, aptKey, conn, seen.system)
	return slices.DeleteFunc([]string{source, name}, func(note string) bool { return note == "" }), err
}

// packageKey returns the public key that signs the depot's indexes of OS packages. It is nil if there is no
// depot, or if the depot has no such key.
func packageKey(ctx context.Context, in Input, ports Ports) ([]byte, error) {
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

// equipPresent prepares the kubelets and the package sources of nodes of the cluster that the playbook
// configures again, but on which the run changes nothing else. c has these nodes.
func equipPresent(ctx context.Context, in Input, key ssh.Key, c contact, ports Ports) error {
	if len(c.nodes) == 0 {
		return nil
	}
	aptKey, err := packageKey(ctx, in, ports)
	if err != nil {
		return err
	}
	visits := make([]visit, len(c.nodes))
	each(len(c.nodes), func(i int) {
		visits[i].err = func() error {
			conn, err := dial(ctx, in, c.nodes[i], key, c.visits[i].key, ports)
			if err != nil {
				return err
			}
			defer conn.Close()
			if err := keepStarting(ctx, in.Request, conn); err != nil {
				return err
			}
			_, err = packageSource(ctx, in.Request, aptKey, conn, c.visits[i].system)
			return err
		}()
	})
	return worst(in.only(c.nodes), visits)
}
