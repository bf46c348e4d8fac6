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

// containerProcesses are the shims of our container runtime and everything inside its containers.
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

// components are processes of our programs that work on this machine's state. Another API server that a test runs from
// the same programs has its state elsewhere.
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

func mentions(l layout.Layout, arg string) bool {
	for _, dir := range []string{l.PKI(), l.Etc(), l.Data(), l.DepotDir(), l.Run()} {
		if strings.HasSuffix(arg, dir) || strings.Contains(arg, dir+"/") {
			return true
		}
	}
	return false
}

// KillContainers ends every container without asking it, and returns when none is left.
func KillContainers(ctx context.Context, l layout.Layout) error {
	return killUntilGone(ctx, "container processes", func() ([]int, error) { return containerProcesses(l) })
}

// KillComponents ends what a supervisor that died without its children's knowledge may have left.
func KillComponents(ctx context.Context, l layout.Layout) error {
	return killUntilGone(ctx, "components", func() ([]int, error) { return components(l) })
}

// killUntilGone kills again and again what the list names: what is being killed may still fork.
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
			return fmt.Errorf("%s do not end: processes %v", what, pids)
		}
	}
}
