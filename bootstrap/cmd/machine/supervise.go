package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/bootstrap/internal/config"
	"github.com/akraino-icn/bpa/bootstrap/internal/host"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
	"github.com/akraino-icn/bpa/bootstrap/internal/site"
	"github.com/akraino-icn/bpa/bootstrap/internal/supervisor"
)

func paths(l layout.Layout) supervisor.Paths {
	return supervisor.Paths{Plan: l.Run("plan.json"), Socket: l.SupervisorSocket(), Lock: l.Run("supervisor.lock"), Logs: l.Log()}
}

func superviseCommand(l layout.Layout) *cobra.Command {
	return &cobra.Command{
		Use:    "supervise",
		Short:  "Run the components in the foreground; systemd or `machine start` starts this command",
		Args:   cobra.NoArgs,
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := requirePlan(l); err != nil {
				return err
			}
			return supervisor.Serve(cmd.Context(), paths(l), hooks(l))
		},
	}
}

// hooks prepare the machine before the first component starts, as after a reboot, and keep it so: a program that resets
// the firewall would let pods reach other networks, and others the pods. Certificates that cannot be
// renewed do not keep the machine from its start.
func hooks(l layout.Layout) supervisor.Hooks {
	var backups schedule
	return supervisor.Hooks{
		Prepare: func(ctx context.Context) error {
			l, err := site.Load(l) // `machine up` may have changed it since this program began
			if err != nil {
				return err
			}
			if err := host.PrepareNetwork(ctx, l.Net()); err != nil {
				return err
			}
			if _, err := renew(l, time.Now()); err != nil {
				fmt.Fprintln(os.Stderr, "renew certificates:", err)
			}
			return host.ClearStaleState(ctx, l)
		},
		MaintainEvery: time.Minute,
		Maintain: func(ctx context.Context) (bool, error) {
			now, wrong := site.Load(l)
			if wrong != nil { // somebody has edited the copy of the file: certificates and backups must go on
				now = l
			}
			changed, err := renew(now, time.Now())
			return changed, errors.Join(wrong, err, host.PrepareNetwork(ctx, now.Net()), backups.tick(ctx, now, time.Now()), publishBackups(ctx, now))
		},
	}
}

// requirePlan completes a restore that was interrupted, unless a supervisor runs. It returns an error if `machine up` has never set up the machine, or if it was destroyed.
func requirePlan(l layout.Layout) error {
	if _, err := l.ID(); err != nil {
		return err
	}
	if err := finishRestore(l); err != nil {
		return err
	}
	if _, err := os.Stat(paths(l).Plan); err != nil {
		return fmt.Errorf("this machine was not set up yet, or was destroyed (%w): run `machine up` in a checkout of the source", err)
	}
	return nil
}

// stopSupervisor stops the supervisor, which stops its components in reverse order, and waits up to 3 minutes. systemd
// has to stop what it has started, because it would start it again. Then stopSupervisor kills the components that still
// run. There can be some if the supervisor did not end in time or had died before.
func stopSupervisor(ctx context.Context, l layout.Layout) error {
	if _, err := os.Stat(l.Run()); errors.Is(err, os.ErrNotExist) {
		return host.KillComponents(ctx, l)
	}
	stopCtx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	var err error
	if host.MachineUnit.Has(config.UnitOf(l)) && host.MachineUnit.Active(stopCtx) {
		err = host.MachineUnit.Stop(stopCtx)
	}
	err = errors.Join(err, supervisor.NewClient(paths(l)).Stop(stopCtx))
	return errors.Join(err, host.KillComponents(ctx, l))
}

// start makes the supervisor run all components of the current plan, and waits up to 3 minutes until every component
// is ready. A running supervisor reloads the plan; otherwise start launches one. It replaces a supervisor of a version
// that does not understand the plan: all components restart then, and containers keep running.
func start(ctx context.Context, l layout.Layout) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	client := supervisor.NewClient(paths(l))
	if outdated, _ := client.Outdated(ctx); outdated {
		if err := stopSupervisor(ctx, l); err != nil {
			return "", err
		}
	}
	err := client.Reload(ctx)
	if errors.Is(err, supervisor.ErrNotRunning) {
		ctx, err = launchSupervisor(ctx, l)
	} else if err == nil {
		err = client.StartComponent(ctx, "")
	}
	if err != nil {
		return "", err
	}
	if err := client.AwaitReady(ctx); err != nil {
		return "", errors.Join(err, context.Cause(ctx), fmt.Errorf("see the logs in %s", l.Log()))
	}
	return outdatedRemark(ctx, client, l), nil
}

// launchSupervisor starts the supervisor in the background: by systemd, if it has the unit of this machine. Otherwise
// it returns a context that ends when the supervisor ends, because waiting for readiness is then pointless.
func launchSupervisor(ctx context.Context, l layout.Layout) (context.Context, error) {
	if host.MachineUnit.Has(config.UnitOf(l)) {
		if err := host.MachineUnit.Start(ctx); err != nil {
			return ctx, fmt.Errorf("%w: see %s", err, l.Log("supervisor.log"))
		}
		return ctx, nil
	}
	ended, err := detach(l)
	if err != nil {
		return ctx, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		err := <-ended
		cancel(fmt.Errorf("the supervisor exited (%v): see %s", err, l.Log("supervisor.log")))
	}()
	return ctx, nil
}

// outdatedRemark returns a remark if the supervisor runs an older program than the installed
// bin/machine, and "" otherwise. up does not restart the supervisor by itself, because that
// restarts every component. Likewise, systemd does not take over a supervisor that it has not started.
func outdatedRemark(ctx context.Context, client *supervisor.Client, l layout.Layout) string {
	pid, _, err := client.Status(ctx)
	if err != nil {
		return ""
	}
	if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil && strings.HasSuffix(exe, " (deleted)") {
		return "the supervisor runs an older program than bin/machine: run `machine restart` to update it"
	}
	if host.MachineUnit.Has(config.UnitOf(l)) && !host.MachineUnit.Active(ctx) {
		return "the supervisor was not started by systemd, which does not restart it: run `machine restart`"
	}
	return ""
}

// detach starts the supervisor in its own session, so that it outlives this command and its
// terminal. If the supervisor exits while this command still runs, ended receives the result.
func detach(l layout.Layout) (ended <-chan error, err error) {
	if err := os.MkdirAll(filepath.Dir(l.Log("supervisor.log")), 0o755); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(l.Log("supervisor.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(l.Bin("machine"), "supervise")
	cmd.Env = append(os.Environ(), "BPA_STATE="+l.Root)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the supervisor: %w", err)
	}
	result := make(chan error, 1)
	go func() { result <- cmd.Wait() }()
	return result, nil
}
