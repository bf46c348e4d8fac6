package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/transfer"
)

func newBackups(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "backups [NAME]",
		Short: "List the backups of a Provisioning or of a namespace, the oldest first",
		Long: `List the backups of a Provisioning or of a namespace, the oldest first. The Provisioning
need not exist any more.

To delete a backup, with its copy in the depot, delete the Backup:
  kubectl delete backup BACKUP`,
		Example: "  kubectl bpa backups edge-1\n  kubectl bpa backups -n site-a",
		Args:    oneName(false),
		RunE:    func(cmd *cobra.Command, args []string) error { return s.backups(cmd.Context(), first(args)) },
	}
}

func (s *session) backups(ctx context.Context, name string) error {
	site, err := s.connect()
	if err != nil {
		return err
	}
	var list v1alpha1.BackupList
	if err := site.client.List(ctx, &list, client.InNamespace(site.namespace)); err != nil {
		return site.explain(err)
	}
	all := slices.DeleteFunc(list.Items, func(b v1alpha1.Backup) bool { return name != "" && b.Spec.Provisioning != name })
	if len(all) == 0 {
		of := "in namespace " + site.namespace
		if name != "" {
			of = fmt.Sprintf("of %s in namespace %s. Make one:\n  %s", name, site.namespace, site.kubectl("bpa backup "+name, "--wait"))
		}
		_, err := fmt.Fprintf(s.Out, "There are no backups %s\n", of)
		return err
	}
	slices.SortFunc(all, func(a, b v1alpha1.Backup) int {
		if byTime := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); byTime != 0 {
			return byTime
		}
		return strings.Compare(a.Name, b.Name)
	})
	_, err = fmt.Fprint(s.Out, backupTable(all))
	return err
}

func backupTable(all []v1alpha1.Backup) string {
	rows := [][]string{{"BACKUP", "PROVISIONING", "RESULT", "COMPLETED", "SIZE", "REVISION", "KUBERNETES", "REASON", "MESSAGE"}}
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
			row[7], row[8] = clean(c.Reason), shorten(clean(c.Message), longestCell)
		}
		rows = append(rows, row)
	}
	return columns(rows)
}
