package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/transfer"
)

type backupsOptions struct {
	scope  scope
	output output
}

func newBackups(s *session) *cobra.Command {
	var o backupsOptions
	cmd := &cobra.Command{
		Use:   "backups [NAME]",
		Short: "List the backups of a Provisioning or of a namespace, the oldest first",
		Long: `List the backups of a Provisioning or of a namespace, the oldest first. The Provisioning
need not exist any more.

To delete a backup, with its copy in the depot, delete the Backup:
  kubectl delete bpabackup BACKUP`,
		Example: "  kubectl bpa backups edge-1\n  kubectl bpa backups -A -o wide",
		Args:    oneName(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.scope.check(first(args)); err != nil {
				return err
			}
			if err := o.output.check(); err != nil {
				return err
			}
			return s.backups(cmd.Context(), first(args), &o)
		},
	}
	completeArgs(cmd, s.clusterNames())
	o.scope.add(cmd)
	o.output.add(cmd, formatName, formatWide)
	return cmd
}

func (s *session) backups(ctx context.Context, name string, o *backupsOptions) error {
	site, err := s.connect()
	if err != nil {
		return err
	}
	var list v1alpha1.BackupList
	if err := site.client.List(ctx, &list, o.scope.options(site)...); err != nil {
		return site.explain(err)
	}
	all := slices.DeleteFunc(list.Items, func(b v1alpha1.Backup) bool { return name != "" && b.Spec.Provisioning != name })
	sortValues(all, func(a, b *v1alpha1.Backup) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	if !o.output.table() {
		printed, err := printedList(site, pointers(all))
		if err != nil {
			return err
		}
		return o.output.print(s.Out, printed)
	}
	if len(all) == 0 {
		of := o.scope.where(site)
		if name != "" {
			of = fmt.Sprintf("of %s in namespace %s. Make one:\n  %s", name, site.namespace, site.kubectl("bpa backup "+name, "--wait"))
		}
		_, err := fmt.Fprintf(s.Out, "There are no backups %s\n", of)
		return err
	}
	_, err = fmt.Fprint(s.Out, backupTable(all, o))
	return err
}

// backupTable shows Backups, one per row. Only the wide table has whole messages.
func backupTable(all []v1alpha1.Backup, o *backupsOptions) string {
	rows := [][]string{o.scope.withNamespace("NAMESPACE", []string{"BACKUP", "PROVISIONING", "RESULT", "COMPLETED", "SIZE", "REVISION", "KUBERNETES", "REASON", "MESSAGE"})}
	for i := range all {
		b := &all[i]
		row := []string{b.Name, b.Spec.Provisioning, "Waiting", "", "", "", b.Status.KubernetesVersion, "", ""}
		c := b.Status.GetCondition(v1alpha1.ConditionSucceeded)
		switch {
		case b.Status.IsSucceeded():
			row[2], row[4], row[5] = "Succeeded", transfer.Bytes(b.Status.Size), strconv.FormatInt(b.Status.Revision, 10)
		case b.Status.IsFailed():
			row[2] = "Failed"
		case b.Status.Run != "":
			row[2] = "Running"
		}
		if t := b.Status.CompletionTime; t != nil {
			row[3] = t.UTC().Format(time.RFC3339)
		}
		if c != nil && !c.IsTrue() && c.Message != "" {
			row[7], row[8] = clean(c.Reason), o.output.cell(clean(c.Message))
		}
		if t := b.Status.KeptUntil; t != nil && b.DeletionTimestamp != nil {
			row[7], row[8] = "BeingDeleted", o.output.cell("its copy stays until "+t.UTC().Format(time.RFC3339))
		}
		rows = append(rows, o.scope.withNamespace(b.Namespace, row))
	}
	return columns(rows)
}
