package host

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// containerProcesses returns the process ids of our container runtime's shims and of all processes
// in its containers.
func containerProcesses(l layout.Layout) ([]int, error) {
	roots, err := cgroupRoots()
	if err != nil {
		return nil, err
	}
	pids := members(ourGroups(roots))
	for _, p := range Shims(l.ContainerdSocket()) {
		pids = append(pids, p.PID)
	}
	return pids, nil
}

// components returns the process ids of our programs whose arguments refer to this machine's state.
// Tests run API servers from the same programs, but with other state folders.
func components(l layout.Layout) ([]int, error) {
	var pids []int
	for _, p := range Processes() {
		exe, err := os.Readlink(filepath.Join("/proc", fmt.Sprint(p.PID), "exe"))
		if err != nil || p.PID == os.Getpid() || !strings.HasPrefix(exe, l.BinDir()+"/") {
			continue
		}
		if slices.ContainsFunc(p.Args, func(arg string) bool { return mentions(l, arg) }) {
			pids = append(pids, p.PID)
		}
	}
	return pids, nil
}

// mentions reports whether a command-line argument refers to a state folder of the machine.
func mentions(l layout.Layout, arg string) bool {
	for _, dir := range []string{l.PKI(), l.Etc(), l.Data(), l.DepotDir(), l.Run()} {
		if strings.HasSuffix(arg, dir) || strings.Contains(arg, dir+"/") {
			return true
		}
	}
	return false
}

// KillContainers kills all containers with SIGKILL, and returns when no process of them is left.
func KillContainers(ctx context.Context, l layout.Layout) error {
	return killUntilGone(ctx, "container processes", func() ([]int, error) { return containerProcesses(l) })
}

// KillComponents kills components that a dead supervisor may have left running.
func KillComponents(ctx context.Context, l layout.Layout) error {
	return killUntilGone(ctx, "components", func() ([]int, error) { return components(l) })
}

// killUntilGone kills the processes that list returns, repeatedly until there are none, because a
// process can fork before it dies. It gives up after 30 s.
func killUntilGone(ctx context.Context, what string, list func() ([]int, error)) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		pids, err := list()
		if err != nil || len(pids) == 0 {
			return err
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s still run after SIGKILL: processes %v", what, pids)
		}
	}
}
