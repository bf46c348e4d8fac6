package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// serverDryRun is the flag --dry-run of a command that changes something, as kubectl has it: the API server and the
// webhook check each change, and nothing is stored.
type serverDryRun struct{ value string }

// The values of --dry-run.
const (
	dryRunNone   = "none"
	dryRunClient = "client"
	dryRunServer = "server"
)

func (d *serverDryRun) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&d.value, "dry-run", dryRunNone, `"server": the API server checks the changes and stores nothing; or "none"`)
	complete(cmd, "dry-run", func(*cobra.Command, []string) []string { return []string{dryRunNone, dryRunServer} })
}

func (d *serverDryRun) check(waits bool) error {
	switch {
	case d.value == dryRunClient:
		return usageError(errors.New("--dry-run is \"client\": only the API server can check this change: use --dry-run=server"))
	case d.value != dryRunNone && d.value != dryRunServer:
		return usageError(fmt.Errorf("--dry-run is %q: use server or none", d.value))
	case d.on() && waits:
		return usageError(errors.New("--dry-run=server changes nothing, so there is nothing to wait for: leave out --wait"))
	}
	return nil
}

func (d *serverDryRun) on() bool { return d.value == dryRunServer }

// of returns the site whose writes are only checked, if this is a dry run.
func (d *serverDryRun) of(s *site) *site {
	if !d.on() {
		return s
	}
	dry := *s
	dry.client = checking{client.NewDryRunClient(s.client), s.client}
	return &dry
}

// checking is a client whose writes are only checked.
type checking struct {
	client.Client
	source client.WithWatch
}

func (c checking) Watch(ctx context.Context, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
	return c.source.Watch(ctx, list, opts...)
}

// unchanged ends a dry run. what is the change that the API server would accept.
func (s *session) unchanged(what string) error {
	_, err := fmt.Fprintf(s.Out, "%s (server dry run: nothing was changed)\n", what)
	return err
}

// previewed ends a dry run that would lead to runs: it shows what they would do with p, which is not stored.
func (s *session) previewed(ctx context.Context, site *site, p *v1alpha1.Provisioning, what string) error {
	view, err := site.plan(ctx, p)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprint(s.Out, view.page()+"\n"); err != nil {
		return err
	}
	return s.unchanged(what)
}
