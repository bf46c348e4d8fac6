package artifacts

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
)

// Make brings the depot up to date. A second call does nothing and takes well below a second.
func Make(ctx context.Context, s *Site) error {
	start := time.Now()
	if err := s.check(); err != nil {
		return err
	}
	if err := packages(ctx, s.Log); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, part := range []func(context.Context) error{s.makeNodeImage, s.makeAnsibleImages, s.makeClusterImages, s.makeFiles, s.makeDebs} {
		g.Go(func() error { return part(ctx) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if err := s.expect("coredns/coredns:v"+corednsVersion, "pause:"+pauseVersion); err != nil {
		return err
	}
	fmt.Fprintf(s.Log, "lab artifacts are in the depot: %d made, the rest was there (%.1fs)\n", s.made, time.Since(start).Seconds())
	return nil
}

// check names what must be there first, and who makes it.
func (s *Site) check() error {
	for _, name := range []string{"kube", "kubeadm", "kubectl", "containerd", "containerd-shim-runc-v2", "ctr", "coredns"} {
		if _, err := os.Stat(s.bin(name)); err != nil {
			return fmt.Errorf("%s is missing: bring up the bootstrap machine first (make base)", s.bin(name))
		}
	}
	if _, err := os.Stat(s.source("test", "playbooks")); err != nil {
		return fmt.Errorf("%s is not this repository: call me there or with --source", s.Source)
	}
	return s.checkKubespray()
}
