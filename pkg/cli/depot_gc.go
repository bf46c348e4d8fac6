package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/transfer"
)

type depotGCOptions struct {
	depot  depotFlags
	dryRun string
	keep   string // file
	grace  time.Duration
}

// oldestList is how old a list of images may be. The depot remembers at least that long which images
// clusters have pulled.
const oldestList = 30 * time.Minute

func newDepotGC(s *session) *cobra.Command {
	var o depotGCOptions
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Free the space of a running depot that nothing refers to",
		Long: `Free the space of a running depot that nothing refers to, mainly the bytes of
deleted artifacts and images. Clients use the depot meanwhile. Content that
clients have sent within the grace stays, because a push in progress may need it.

With --keep it also frees the images that have neither a tag nor a line in FILE.
Write FILE with "kubectl bpa depot images-in-use" just before.

The collection goes on in the depot if this command is interrupted. The token's
account needs the right to update storage of the depot (ClusterRole
bpa-depot-maintainer), with --keep also the right to delete all images.`,
		Example: `  kubectl bpa depot gc --depot-token-file token --dry-run
  kubectl bpa depot images-in-use --to keep.txt && kubectl bpa depot gc --keep keep.txt --depot https://10.60.0.1:5443 --depot-token-file token --depot-ca ca.crt`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch o.dryRun {
			case dryRunNone, dryRunServer:
			default:
				return usageError(fmt.Errorf("--dry-run is %q: use server or none", o.dryRun))
			}
			if o.grace < 0 {
				return usageError(fmt.Errorf("--grace is %s: give a duration such as 24h", o.grace))
			}
			var grace *time.Duration
			if cmd.Flags().Changed("grace") {
				grace = &o.grace
			}
			return interrupted(cmd.Context(), s.depotGC(cmd.Context(), o, grace))
		},
	}
	o.depot.add(cmd, "depot", siteDepotUsage)
	cmd.Flags().StringVar(&o.dryRun, "dry-run", dryRunNone, `"server": the depot only counts what it would free; or "none"`)
	cmd.Flags().Lookup("dry-run").NoOptDefVal = dryRunServer
	complete(cmd, "dry-run", func(*cobra.Command, []string) []string { return []string{dryRunNone, dryRunServer} })
	cmd.Flags().StringVar(&o.keep, "keep", "", "file of \"kubectl bpa depot images-in-use\": also free the images that have neither a tag nor a line in it")
	cmd.Flags().DurationVar(&o.grace, "grace", 0, "how long content stays that clients have sent and nothing refers to (default: the setting of the depot, 24h); a push that takes longer may have to begin again")
	return cmd
}

func (s *session) depotGC(ctx context.Context, o depotGCOptions, grace *time.Duration) error {
	options := client.CollectionOptions{DryRun: o.dryRun == dryRunServer, Grace: grace}
	if o.keep != "" {
		list, err := s.openList(o.keep)
		if err != nil {
			return err
		}
		defer list.Close()
		options.Keep = list
	}
	depot, err := s.siteDepot(ctx, o.depot)
	if err != nil {
		return err
	}
	begun, err := depot.StartCollection(ctx, options)
	var busy *client.Busy
	if errors.As(err, &busy) {
		return fmt.Errorf("%w; try again when it has ended", err)
	}
	if err != nil {
		return fmt.Errorf("gc of %s: %w", depot.URL(), err)
	}
	ended, err := s.followCollection(ctx, depot, begun)
	if ctx.Err() != nil {
		return fmt.Errorf("%w: the collection goes on in the depot, see its log", ctx.Err())
	}
	if err != nil {
		return err
	}
	return s.reportCollection(ended)
}

func (s *session) openList(name string) (*os.File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("--keep: %w", err)
	}
	info, err := f.Stat()
	if err == nil && s.now().Sub(info.ModTime()) > oldestList {
		err = fmt.Errorf("--keep %s was written at %s: clusters may use other images since: write it again with \"kubectl bpa depot images-in-use --to %s\"", name, info.ModTime().Format(time.RFC3339), name)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// followCollection shows the progress of a collection until it ends.
func (s *session) followCollection(ctx context.Context, depot *client.Depot, c protocol.Collection) (protocol.Collection, error) {
	tick := time.NewTicker(s.pace)
	defer tick.Stop()
	id, shown := c.ID, ""
	for {
		if line := fmt.Sprintf("read %d repositories and %d blobs", c.Repositories, c.Blobs); line != shown {
			shown = line
			_, _ = fmt.Fprintln(s.ErrOut, line)
		}
		if c.State != protocol.Collecting {
			return c, nil
		}
		select {
		case <-ctx.Done():
			return c, ctx.Err()
		case <-tick.C:
		}
		next, there, err := depot.Collection(ctx)
		if err != nil {
			return c, fmt.Errorf("the collection goes on in the depot, but its state cannot be read: %w", err)
		}
		if !there || next.ID != id {
			return c, errors.New("the depot was restarted, which has ended the collection; nothing that is in use was freed: run the command again")
		}
		c = next
	}
}

func (s *session) reportCollection(c protocol.Collection) error {
	verb := "freed"
	if c.DryRun {
		verb = "would free"
	}
	_, err := fmt.Fprintf(s.Out, "%s %s: %d blobs and %d images\n", verb, transfer.Bytes(c.Bytes), c.FreedBlobs, c.Manifests)
	if err == nil && c.Recent > 0 {
		_, err = fmt.Fprintf(s.Out, "%s in %d blobs stay for now: nothing refers to them, and clients have sent them within %s\n", transfer.Bytes(c.RecentBytes), c.Recent, c.Grace)
	}
	if c.State == protocol.CollectionError {
		return fmt.Errorf("the collection failed: %s\nWhat it has freed is freed, and the next one continues", c.Error)
	}
	return err
}
