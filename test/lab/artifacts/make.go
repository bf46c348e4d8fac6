package artifacts

import (
	"context"
	"fmt"
	"os"
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
