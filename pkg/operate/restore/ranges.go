package restore

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// bridgesScript prints the addresses of the bridges that network plugins make on a node.
const bridgesScript = `set -eu
for l in cni0 cbr0 kube-bridge; do ip -oneline address show dev $l 2>/dev/null || :; done
`

// renewPods ends the pods of those workers whose bridge has an address of another range than their nodes have now.
// A worker that got its node after the backup was made, such as an exchanged machine, has the range that
// the node had before the restore. With such a bridge no pod starts, and other nodes do not reach those that run.
func (r *restoration) renewPods(ctx context.Context) error {
	workers := slices.DeleteFunc(slices.Clone(r.in.Nodes), func(n contract.Node) bool {
		return session.HasHost(r.planes, n) || slices.Contains(r.in.Silent, n.Name)
	})
	ranges, err := r.ranges(ctx, workers)
	if err != nil {
		return err
	}
	errs := make([]error, len(workers))
	session.Each(len(workers), func(i int) {
		n := workers[i]
		if len(ranges[n.Name]) == 0 {
			return
		}
		limited, cancel := context.WithTimeout(ctx, r.limit())
		defer cancel()
		errs[i] = session.OnMachine(limited, r.in, n, r.key, r.c.Pins.Of(n.HostUID), r.ports, func(ctx context.Context, sh machine.Shell) error {
			bridges, err := sh(ctx, bridgesScript)
			if err != nil || !outside(string(bridges), ranges[n.Name]) {
				return err
			}
			fmt.Fprintf(r.ports.Log, "  %-16s its pods start again: they have addresses of another range than %s\n", n.Name, strings.Join(ranges[n.Name], " and "))
			_, err = sh(ctx, restartAnew)
			return err
		})
		if errs[i] != nil {
			errs[i] = stepFailed(n, "start the pods of the worker again", errs[i])
		}
	})
	if err := session.Stopped(ctx, "the restore"); err != nil {
		return err
	}
	return errors.Join(errs...)
}

// ranges returns the ranges of the pods' addresses of these nodes. A node that is not in the backup gets its range from the
// controllers, so ranges waits for it. There are none if the network plugin does not use them.
func (r *restoration) ranges(ctx context.Context, nodes []contract.Node) (map[string][]string, error) {
	limited, cancel := context.WithTimeout(ctx, r.in.HealthLimit)
	defer cancel()
	tick := time.NewTicker(r.in.PollInterval())
	defer tick.Stop()
	for {
		registered, err := r.registered(limited)
		all, used := map[string][]string{}, false
		for name, o := range registered {
			all[name], used = o.Spec.PodCIDRs, used || len(o.Spec.PodCIDRs) > 0
		}
		missing := slices.DeleteFunc(session.Names(nodes), func(name string) bool { return len(all[name]) > 0 })
		if err == nil && (!used || len(missing) == 0) {
			return all, nil
		}
		select {
		case <-tick.C:
		case <-limited.Done():
			if err := session.Stopped(ctx, "the restore"); err != nil {
				return nil, err
			}
			if err == nil {
				err = fmt.Errorf("these nodes have got no range of addresses for their pods within %s: %s. "+
					"See the log of kube-controller-manager in namespace kube-system. The next attempt continues", r.in.HealthLimit, strings.Join(missing, ", "))
			}
			return nil, task.Because(contract.ReasonClusterUnhealthy, err)
		}
	}
}

// outside reports whether the text of bridgesScript has an address that is in none of the ranges of its family. Addresses
// of the link say nothing about pods.
func outside(text string, ranges []string) bool {
	var prefixes []netip.Prefix
	for _, of := range ranges {
		if p, err := netip.ParsePrefix(of); err == nil {
			prefixes = append(prefixes, p)
		}
	}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		for i, f := range fields[:max(len(fields)-1, 0)] {
			at, err := netip.ParsePrefix(fields[i+1])
			if !strings.HasPrefix(f, "inet") || err != nil || at.Addr().IsLinkLocalUnicast() {
				continue
			}
			family := slices.DeleteFunc(slices.Clone(prefixes), func(p netip.Prefix) bool { return p.Addr().Is4() != at.Addr().Is4() })
			if len(family) > 0 && !slices.ContainsFunc(family, func(p netip.Prefix) bool { return p.Contains(at.Addr()) }) {
				return true
			}
		}
	}
	return false
}
