package artifacts

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// Make builds all missing or outdated artifacts and stores them in the depot. It writes one line
// for each of these to s.Log. If nothing changed, it takes well below a second.
func Make(ctx context.Context, s *Builder) error {
	start := time.Now()
	if err := s.check(); err != nil {
		return err
	}
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := packages(ctx, s.Log); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, part := range []func(context.Context) error{s.makeNodeImage, s.makeAnsibleImages, s.makeClusterImages, s.makePluginImages, s.makeFiles, s.makeDebs} {
		g.Go(func() error { return part(ctx) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if err := s.requireImages("coredns/coredns:v"+corednsVersion, "pause:"+pauseVersion); err != nil {
		return err
	}
	fmt.Fprintf(s.Log, "all lab artifacts are in the depot: built %d, kept the others (%.1fs)\n", s.built, time.Since(start).Seconds())
	return nil
}

// lock waits until no other process builds artifacts: two would write into one virtual environment.
func (b *Builder) lock() (unlock func(), err error) {
	if err := os.MkdirAll(b.cache(), 0o755); err != nil {
		return nil, err
	}
	f, err := os.Create(b.cache("lock"))
	if err != nil {
		return nil, err
	}
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		fmt.Fprintln(b.Log, "waiting until another process has built its lab artifacts")
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
		}
	}
	return func() { _ = f.Close() }, nil // the lock ends with the file, also if the process is killed
}

// check returns an error if a prerequisite is missing. The error names the command that creates it.
func (b *Builder) check() error {
	for _, name := range []string{"kube", "kubeadm", "kubectl", "containerd", "containerd-shim-runc-v2", "ctr", "coredns"} {
		if _, err := os.Stat(b.bin(name)); err != nil {
			return fmt.Errorf("%s is missing: set up the bootstrap machine first (make base)", b.bin(name))
		}
	}
	if _, err := os.Stat(b.source("test", "playbooks")); err != nil {
		return fmt.Errorf("%s is not a checkout of this repository: run lab there, or set --source", b.Source)
	}
	return b.checkKubespray()
}
