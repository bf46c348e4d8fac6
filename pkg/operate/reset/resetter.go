package reset

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine"
	"github.com/akraino-icn/bpa/pkg/operate/play"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/ssh"
)

// Work removes a cluster from machines. Its Input has the inventory of the whole cluster.
type Work struct {
	Input   session.Input
	Key     ssh.Key
	Contact session.Contact
	Ports   session.Ports
	Report  func(percent int, step string)
}

// Reset removes everything of a cluster from the machines of some nodes. It returns an error for each
// node; nil means that the machine is empty. It calls proven for a machine as soon as this is
// certain. Kubespray's playbook only helps to stop the cluster in order: if it fails, the machines
// are cleaned without it.
func (r Work) Reset(ctx context.Context, nodes []contract.Node, proven func(contract.Node) error) []error {
	errs := make([]error, len(nodes))
	r.Report(1, "Save the network settings of the site")
	session.Each(len(nodes), func(i int) {
		if errs[i] = r.On(ctx, nodes[i], r.Ports.Machines.Save); errs[i] != nil {
			errs[i] = fmt.Errorf("its packet filter rules and network settings cannot be saved, so it was not reset: %w", errs[i])
		}
	})
	var playable []contract.Node
	for i, n := range nodes {
		if errs[i] == nil && len(r.ReportOf(n).Kubernetes) > 0 {
			playable = append(playable, n)
		}
	}
	if err := r.play(ctx, playable); err != nil {
		fmt.Fprintf(r.Ports.Log, "%s failed: %v\nThe machines are cleaned without it\n", contract.PlaybookReset, err)
	}
	r.Report(90, "Remove what is left, and check")
	session.Each(len(nodes), func(i int) {
		if errs[i] != nil {
			return
		}
		if errs[i] = session.Stopped(ctx, "the reset"); errs[i] != nil {
			return
		}
		if errs[i] = r.On(ctx, nodes[i], r.Ports.Machines.Clean); errs[i] == nil {
			errs[i] = proven(nodes[i])
		}
	})
	for i, n := range nodes {
		if errs[i] == nil {
			fmt.Fprintf(r.Ports.Log, "  %-16s %s is reset: the machine is empty\n", n.Name, n.Host)
		} else {
			fmt.Fprintf(r.Ports.Log, "  %-16s %v\n", n.Name, errs[i])
		}
	}
	return errs
}

// On runs do on the machine of a node.
func (r Work) On(ctx context.Context, n contract.Node, do func(context.Context, machine.Shell) error) error {
	return session.OnMachine(ctx, r.Input, n, r.Key, r.Contact.Pins.Of(n.HostUID), r.Ports, do)
}

// Leave lets the machine of a node that leaves the cluster refuse the key of the cluster, and then stores that
// the machine is empty. In this order, an interruption leaves no key on a machine that the record calls empty. The next attempt
// finds a machine that denies the key: it enrolls the machine again, and lets it leave again.
func (r Work) Leave(ctx context.Context, n contract.Node) error {
	err := r.On(ctx, n, func(ctx context.Context, sh machine.Shell) error { return r.Ports.Machines.Authorize(ctx, sh, "") })
	if err != nil {
		return fmt.Errorf("the SSH key of the cluster cannot be removed from it: %w", err)
	}
	return r.Contact.Record.Set(ctx, contract.HostClean, n.HostUID)
}

// ReportOf returns what the visit has found on the machine of a node of r.c.
func (r Work) ReportOf(n contract.Node) machine.Report {
	i := slices.IndexFunc(r.Contact.Nodes, func(m contract.Node) bool { return m.HostUID == n.HostUID })
	return r.Contact.Visits[i].Report
}

// play runs kubespray's reset on some nodes of the inventory.
func (r Work) play(ctx context.Context, nodes []contract.Node) error {
	if len(nodes) == 0 {
		return nil
	}
	if len(r.Input.HostsINI) == 0 {
		return fmt.Errorf("there is no inventory for it")
	}
	in := r.Input
	in.Playbook, in.ExtraVars, in.Limit = contract.PlaybookReset, PlaybookVars(r.Input), nil
	for _, n := range nodes {
		if !session.KubernetesName.MatchString(n.Name) {
			return fmt.Errorf("%q is not the name of a node", n.Name)
		}
		in.Limit = append(in.Limit, n.Name)
	}
	if err := in.CheckPlaybook(); err != nil {
		return err
	}
	counted := play.CountTasks(in)
	files, err := play.Prepare(in, r.Contact.Pins)
	if err != nil {
		return err
	}
	_, err = play.Run(ctx, in, files, r.Ports, func(percent int, step string) { r.Report(min(percent, 89), step) }, counted)
	return err
}

// PlaybookVars are the extra variables of kubespray's reset.
func PlaybookVars(in session.Input) map[string]any {
	vars := machine.PlaybookVars()
	if !in.Request.SetsVar("no_proxy") {
		// Kubespray makes this variable from facts of all nodes, but it has no facts of nodes that
		// --limit leaves out.
		vars["no_proxy"] = noProxy(in)
	}
	return vars
}

// noProxy returns the addresses that the nodes reach without a proxy.
func noProxy(in session.Input) string {
	addresses := map[string]bool{"127.0.0.1": true, "localhost": true}
	for _, n := range in.Nodes {
		addresses[n.Address] = true
	}
	if depot, err := url.Parse(in.Request.DepotURL); err == nil {
		addresses[depot.Hostname()] = true
	}
	delete(addresses, "")
	return strings.Join(slices.Sorted(maps.Keys(addresses)), ",")
}
