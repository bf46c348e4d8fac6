package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/transfer"
)

func newDepotUsage(s *session) *cobra.Command {
	var depot depotFlags
	var o output
	cmd := &cobra.Command{
		Use:   "usage",
		Short: "Show what a depot holds and what gc would free",
		Long: `Show what a depot holds, by kind and by owner, the free space, and what
"kubectl bpa depot gc" would free. An owner is a namespace. If two artifacts have
the same content, each of them counts for its owner, and the kinds count it once.

The token's account needs the right to get storage of the depot (ClusterRole
bpa-depot-maintainer).`,
		Example: `  kubectl bpa depot usage --depot-token-file token
  kubectl bpa depot usage --depot https://10.60.0.1:5443 --depot-token-file token --depot-ca ca.crt`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return interrupted(cmd.Context(), s.depotUsage(cmd.Context(), depot, o))
		},
	}
	depot.add(cmd, "depot", siteDepotUsage)
	o.add(cmd)
	return cmd
}

func (s *session) depotUsage(ctx context.Context, f depotFlags, o output) error {
	depot, err := s.siteDepot(ctx, f)
	if err != nil {
		return err
	}
	u, err := depot.Usage(ctx)
	if err != nil {
		return fmt.Errorf("usage of %s: %w", depot.URL(), err)
	}
	if !o.table() {
		return o.printReport(s.Out, reportUsage, u)
	}
	_, err = fmt.Fprint(s.Out, usageTable(u))
	return err
}

// kindNotes say what the kinds are whose names do not.
var kindNotes = map[string]string{
	"unreferenced": "gc frees it",
	"recent":       "nothing refers to it yet; gc frees it when it is older",
}

func usageTable(u protocol.Usage) string {
	rows := [][]string{{"KIND", "COUNT", "SIZE", ""}}
	for _, k := range u.Kinds {
		rows = append(rows, []string{k.Name, fmt.Sprint(k.Count), transfer.Bytes(k.Bytes), kindNotes[k.Name]})
	}
	text := columns(rows) + "\n"
	if len(u.Owners) > 0 {
		rows = [][]string{{"OWNER", "ARTIFACTS", "SIZE", "SHARE"}}
		for _, a := range u.Owners {
			share := "-"
			if a.Limit > 0 {
				share = transfer.Bytes(a.Limit)
			}
			rows = append(rows, []string{a.Name, fmt.Sprint(a.Count), transfer.Bytes(a.Bytes), share})
		}
		text += columns(rows) + "\n"
	}
	var limits []string
	if u.Free != nil {
		limits = append(limits, transfer.Bytes(*u.Free)+" free on the disk")
	}
	for _, l := range []struct {
		bytes int64
		name  string
	}{{u.Quota, "quota"}, {u.MinFree, "must stay free"}, {u.BackupReserve, "for Backups only"}} {
		if l.bytes > 0 {
			limits = append(limits, transfer.Bytes(l.bytes)+" "+l.name)
		}
	}
	return text + strings.Join(append([]string{transfer.Bytes(u.Bytes) + " in the depot"}, limits...), ", ") + "\n"
}
