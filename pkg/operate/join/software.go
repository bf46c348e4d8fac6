package join

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/playbook"
	"github.com/akraino-icn/bpa/pkg/tasks/software"
)

// giveSoftware installs the packages of the request on machines that are not nodes of the cluster yet, so
// that a node has them before it takes workloads. It drains nothing. A failure is in the record and in the
// log, and never an error of the run: the operation software tries it again, or says what is wrong.
func giveSoftware(ctx context.Context, in session.Input, nodes []contract.Node, pins ssh.Pins, ports session.Ports, progress *playbook.Progress) {
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(n contract.Node) bool {
		return slices.ContainsFunc(in.Request.Members, func(m contract.Node) bool { return m.HostUID == n.HostUID })
	})
	wish := in.Request.Software
	if wish == nil || wish.CheckOnly || len(wish.Packages) == 0 || len(nodes) == 0 || ports.Software == nil {
		return
	}
	fmt.Fprintf(ports.Log, "\nInstalling software on %s\n", session.JoinNames(nodes))
	progress.Set(0, "Install software on "+session.Count(len(nodes), "new node"))
	if err := installSoftware(ctx, in, nodes, pins, ports, progress); err != nil && ctx.Err() == nil {
		fmt.Fprintf(ports.Log, "  The software of the new nodes is not complete; the run goes on, and a later run installs it: %v\n", err)
	}
}

func installSoftware(ctx context.Context, in session.Input, nodes []contract.Node, pins ssh.Pins, ports session.Ports, progress *playbook.Progress) error {
	record, err := software.ReadRecord(ctx, ports.Software, time.Now)
	if err != nil {
		return err // such as no ConfigMap, which an older controller does not create
	}
	work := &software.Work{
		Rules: software.RulesOf(in.Request), Record: record,
		Changes: func(contract.Node) bool { return true },
		Machines: &software.Machines{
			Task: contract.TaskKubespray, Request: in.Request, HostsINI: in.HostsINI, GroupVars: in.GroupVars, PrivateKey: in.PrivateKey,
			PlaybooksDir: in.PlaybooksDir, ScratchDir: in.ScratchDir, Pins: pins, Exec: ports.Playbook, Log: ports.Log, Limits: software.NewMachineLimits,
			Report: func(step string) { progress.Set(0, "Software: "+step) },
		},
	}
	if err := work.Look(ctx, nodes); err != nil {
		return err
	}
	due := slices.DeleteFunc(slices.Clone(nodes), func(n contract.Node) bool { return work.Disruption(n) == "" })
	if len(due) == 0 {
		return nil
	}
	reboot, err := work.Apply(ctx, due)
	booting := in.NodesNamed(reboot)
	if err != nil || len(booting) == 0 {
		return err
	}
	failed, err := work.Reboot(ctx, booting)
	for name, message := range failed {
		fmt.Fprintf(ports.Log, "  %s has not booted again: %s\n", name, message)
	}
	return err
}
