package play

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/playbook"
	"github.com/akraino-icn/bpa/pkg/tasks/playbook/acceleration"
)

// prefetchPlay fetches files and images of kubespray on the nodes.
//
//go:embed prefetch.yml
var prefetchPlay []byte

// Prefetch lets the nodes of the playbook begin to fetch files and images, and returns a function that ends this. The
// playbook does not depend on it: it fetches itself what it does not find. The function must be called after the playbook.
func Prefetch(ctx context.Context, in session.Input, pins ssh.Pins, ports session.Ports) (end func()) {
	if !prefetches(in) {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := fetch(ctx, in, pins, ports); err != nil && ctx.Err() == nil {
			fmt.Fprintf(ports.Log, "Not everything was prefetched, so the playbook fetches the rest: %v\n", err)
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// prefetches reports whether the playbook installs nodes with kubespray's roles. An upgrade fetches
// before it takes a node out of service.
func prefetches(in session.Input) bool {
	return slices.Contains(accelerations(in), acceleration.Prefetch) &&
		(in.Playbook == contract.PlaybookInstall || in.Playbook == contract.PlaybookScale) && in.Tags == "" &&
		Exists(filepath.Join(in.PlaybooksDir, "roles", "kubespray_defaults"))
}

// fetch runs prefetchPlay on the nodes of the playbook.
func fetch(ctx context.Context, in session.Input, pins ssh.Pins, ports session.Ports) error {
	in.ScratchDir = filepath.Join(in.ScratchDir, "prefetch")
	files, err := Prepare(in, pins)
	if err != nil {
		return err
	}
	in.Playbook = filepath.Join(in.ScratchDir, "prefetch.yml")
	if err := WriteFile(in.Playbook, prefetchPlay, 0o600); err != nil {
		return err
	}
	_, _, err = playbook.Run{
		Task: contract.TaskKubespray, Name: filepath.Base(in.Playbook), Command: Command(in, files), Exec: ports.Playbook,
		Log: io.Discard, Report: func(int, string) {},
	}.Do(ctx)
	return err
}
