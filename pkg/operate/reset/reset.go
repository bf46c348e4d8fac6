package reset

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/inventory"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/playbook"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Run removes the cluster from the machines of all nodes that answer. It returns the recap. Hosts
// that do not answer are left out and stay HostUsed: the controller releases them with their mark. If
// none of several hosts answers, the reset fails.
func Run(ctx context.Context, in session.Input, key ssh.Key, ports session.Ports, progress *playbook.Progress) (string, error) {
	progress.Set(0, "Connect to the hosts")
	in.Request.OperatingSystem = "" // does not matter here
	c, err := session.Connect(ctx, in, key, ports)
	if err != nil {
		return "", err
	}
	if err := noneAnswered(in, c.Visits); err != nil {
		return "", err
	}
	var living, idle, broken []contract.Node
	var absent []Absence
	var troubles []error
	for i, n := range in.Nodes {
		switch v := c.Visits[i]; {
		case session.WhyAbsent(v.Err) != "":
			absent = append(absent, Absence{n, session.WhyAbsent(v.Err)})
		case v.Err != nil:
			broken, troubles = append(broken, n), append(troubles, v.Err)
		case session.IsEmpty(v.Report):
			idle = append(idle, n)
		default:
			living = append(living, n)
		}
	}
	if err := c.Record.Set(ctx, contract.HostUsed, session.HostUIDs(living)...); err != nil {
		return "", err
	}
	r := Work{Input: WithInventory(in, ports), Key: key, Contact: c, Ports: ports, Report: progress.Set}
	left := make([]error, len(idle))
	session.Each(len(idle), func(i int) { left[i] = r.Leave(ctx, idle[i]) })
	for i, err := range left {
		if err != nil {
			broken, troubles = append(broken, idle[i]), append(troubles, err)
		}
	}
	var errs []error
	if len(living) > 0 {
		errs = r.Reset(ctx, living, func(n contract.Node) error { return r.Leave(ctx, n) })
	}
	if err := session.Stopped(ctx, "the reset"); err != nil {
		return "", err
	}
	if err := FailedReset(append(broken, living...), append(troubles, errs...)); err != nil {
		return "", err
	}
	recap := recapOf(len(in.Nodes), absent)
	progress.Set(100, recap)
	return recap, nil
}

// WithInventory returns the input with the inventory of all nodes. If it cannot be rendered, for
// example because no control plane is left, the input has no inventory.
func WithInventory(in session.Input, ports session.Ports) session.Input {
	rendered, err := inventory.RenderPinned(in.Request, in.Nodes, nil)
	if err != nil {
		fmt.Fprintf(ports.Log, "There is no inventory for kubespray: %v\n", err)
		in.HostsINI, in.GroupVars = nil, nil
		return in
	}
	in.HostsINI, in.GroupVars = rendered.HostsINI, rendered.GroupVars
	return in
}

// noneAnswered returns an error if a reset is for several hosts and none of them answers. Such hosts
// have a common cause, which a user can correct. One host alone may be dead, so it is left out.
func noneAnswered(in session.Input, visits []session.Visit) error {
	var silent []int
	for i, v := range visits {
		switch {
		case session.IsSilent(v.Err):
			silent = append(silent, i)
		case !errors.Is(v.Err, session.ErrNoAddress):
			return nil
		}
	}
	if len(silent) < 2 {
		return nil
	}
	first := in.Nodes[silent[0]]
	advice := "spec.ssh. Correct it; the next attempt continues. To release the hosts as they are, set spec.deletionPolicy to Retain"
	if in.Request.UID == "" { // the hosts are named by a user and belong to no Provisioning
		advice = "the options --ssh-port and --subnet. Correct it, then reset the hosts again"
	}
	failed := &task.Error{Reason: contract.ReasonHostUnreachable, Host: first.Name, Step: "connect by SSH",
		Err: fmt.Errorf("no host answers, so none was reset; %s at %s: %w. The likely cause is the network between the bootstrap machine and the hosts, or %s",
			first.Host, node.Target(in.Request, first).HostPort(), visits[silent[0]].Err, advice)}
	for _, i := range silent[1:] {
		failed.Others = append(failed.Others, in.Nodes[i].Name)
	}
	return failed
}

// Absence is a host that is left out of a reset, and why.
type Absence struct {
	Node contract.Node
	Why  string
}

// recapOf returns the result of a reset in one line: "3 of 4 hosts reset; host-4 did not answer".
func recapOf(all int, absent []Absence) string {
	if len(absent) == 0 {
		return session.Count(all, "host") + " reset"
	}
	text := []string{fmt.Sprintf("%d of %s reset", all-len(absent), session.Count(all, "host"))}
	for _, a := range absent {
		text = append(text, a.Node.Host+" "+a.Why)
	}
	return task.Cut(strings.Join(text, "; "), contract.MaxText)
}

// FailedReset returns the error of a reset in which hosts failed, or nil. An error that a user must
// correct comes first.
func FailedReset(nodes []contract.Node, errs []error) error {
	for i, err := range errs {
		if errors.Is(err, ssh.ErrDenied) {
			return &task.Error{Reason: contract.ReasonSSHDenied, Host: nodes[i].Name, Step: "connect by SSH",
				Err: fmt.Errorf("host %s was not reset: %w. Correct the SSH Secret or spec.ssh; to leave the host as it is, set spec.deletionPolicy to Retain", nodes[i].Host, err)}
		}
	}
	return Incomplete(nodes, errs)
}

// Incomplete returns the error of a reset that failed on some nodes; nil: it failed on none. The
// errors are in the order of the nodes.
func Incomplete(nodes []contract.Node, errs []error) error {
	var failed *task.Error
	for i, err := range errs {
		switch {
		case err == nil:
		case failed == nil:
			failed = &task.Error{Reason: contract.ReasonResetIncomplete, Host: nodes[i].Name, Step: "reset the host",
				Err: fmt.Errorf("host %s is not empty after the reset: %w", nodes[i].Host, err)}
		default:
			failed.Others = append(failed.Others, nodes[i].Name)
		}
	}
	if failed == nil {
		return nil
	}
	if n := len(failed.Others); n > 0 {
		failed.Err = fmt.Errorf("%w. %s failed too: %s", failed.Err, session.Count(n, "more node"), task.Cut(strings.Join(failed.Others, ", "), 200))
	}
	return failed
}
