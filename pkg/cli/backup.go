package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/transfer"
)

type backupOptions struct {
	name    string // name of the Backup
	waiting waitFlags
	dryRun  serverDryRun
}

func newBackup(s *session) *cobra.Command {
	var o backupOptions
	cmd := &cobra.Command{
		Use:   "backup NAME",
		Short: "Back up the etcd and the keys of a cluster into the depot",
		Long: `Back up the etcd and the keys of a cluster into the depot. The command creates a
Backup. The copy is encrypted for the key in Secret NAME-backup-key. It stays in the
depot until the Backup is deleted, also when the Provisioning is deleted.

Keep a copy of that Secret outside of the bootstrap cluster: without it, nobody can read
the backups.`,
		Example: "  kubectl bpa backup edge-1 --wait\n  kubectl bpa backup edge-1 --name=before-upgrade -n site-a",
		Args:    oneName(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(o.waiting.check(), o.dryRun.check(o.waiting.wait)); err != nil {
				return err
			}
			return s.backup(cmd.Context(), args[0], o)
		},
	}
	cmd.Flags().StringVar(&o.name, "name", "", "name of the Backup (default NAME and the time)")
	o.waiting.addP(cmd, "w", "the backup has succeeded or failed", "10m")
	o.dryRun.add(cmd)
	completeArgs(cmd, s.clusterNames())
	return cmd
}

func (s *session) backup(ctx context.Context, name string, o backupOptions) error {
	ctx, cancel := withTimeout(ctx, o.waiting.timeout)
	defer cancel()
	site, p, err := s.cluster(ctx, name)
	if err != nil {
		return err
	}
	switch {
	case p.DeletionTimestamp != nil:
		return beingDeleted(p, "its cluster cannot be backed up")
	case p.Status.InstalledDigest == "":
		return exitf(codeNotYet, "%s has no installed cluster that could be backed up. Follow it:\n  %s", p.Name, site.kubectl("bpa watch "+p.Name, ""))
	}
	if o.name == "" {
		o.name = p.Name + "-" + s.now().UTC().Format("20060102150405")
	}
	b := &v1alpha1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: o.name}, Spec: v1alpha1.BackupSpec{Provisioning: p.Name}}
	err = o.dryRun.of(site).client.Create(ctx, b)
	if apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("there is a Backup %s already: give another name with --name, or see it:\n  %s", o.name, site.kubectl("get bpabackup "+o.name, ""))
	}
	if err != nil {
		return fmt.Errorf("create Backup %s: %w", o.name, site.explain(err))
	}
	if o.dryRun.on() {
		return s.unchanged("Backup " + b.Name + " of " + p.Name + " can be created")
	}
	_, _ = fmt.Fprintf(s.Out, "Backup %s was created.\n", b.Name)
	if !o.waiting.wait {
		_, err := fmt.Fprintf(s.Out, "See its result:\n  %s\n", site.kubectl("bpa backups "+p.Name, ""))
		return err
	}
	last, err := s.followBackup(ctx, site, b)
	if err != nil {
		return stoppedBackup(ctx, err, site, last, o)
	}
	return s.concludeBackup(site, last)
}

// followBackup shows the state of a Backup until it has succeeded or failed, and returns the last state.
func (s *session) followBackup(ctx context.Context, site *site, b *v1alpha1.Backup) (*v1alpha1.Backup, error) {
	out, start, uid := newDisplay(s.Out), s.now(), b.UID
	defer out.close()
	tick := time.NewTicker(s.pace)
	defer tick.Stop()
	for {
		out.show(update{Elapsed: max(s.now().Sub(start), 0).Truncate(time.Second), Percent: -1, Text: presentBackup(b)})
		if b.Status.IsDone() {
			return b, nil
		}
		select {
		case <-ctx.Done():
			return b, ctx.Err()
		case <-tick.C:
		}
		next := &v1alpha1.Backup{}
		err := site.client.Get(ctx, client.ObjectKeyFromObject(b), next)
		switch {
		case apierrors.IsNotFound(err), err == nil && next.UID != uid:
			return b, fmt.Errorf("the Backup %s was deleted", b.Name)
		case err != nil:
			return b, site.explain(err)
		}
		b = next
	}
}

// presentBackup describes what happens now.
func presentBackup(b *v1alpha1.Backup) string {
	c := b.Status.GetCondition(v1alpha1.ConditionSucceeded)
	switch {
	case c == nil || c.IsUnknown() && b.Status.Run == "" && c.Message == "":
		return "waiting for the controller"
	case c.IsUnknown() && c.Message != "":
		return clean(c.Message)
	case c.IsUnknown():
		return "copying etcd and the keys: PipelineRun " + b.Status.Run
	case c.IsTrue():
		return "stored"
	}
	return "failed"
}

// concludeBackup reports the result. A failure is an error.
func (s *session) concludeBackup(site *site, b *v1alpha1.Backup) error {
	if b.Status.IsFailed() {
		c := b.Status.GetCondition(v1alpha1.ConditionSucceeded)
		return fmt.Errorf("the Backup %s failed (%s): %s", b.Name, clean(c.Reason), clean(c.Message))
	}
	key := contract.BackupKeyName(b.Spec.Provisioning)
	lines := []string{
		fmt.Sprintf("%s has %s at %s (%s, etcd revision %d).", b.Name, b.Status.Artifact, b.Status.Depot, transfer.Bytes(b.Status.Size), b.Status.Revision),
		fmt.Sprintf("Only the key in Secret %s opens it. Keep a copy of the key outside of this cluster:", key),
		"  " + site.kubectl("get secret "+key, "-o jsonpath='{.data.identity}' | base64 -d >"+b.Spec.Provisioning+".age-key"),
	}
	_, err := fmt.Fprintln(s.Out, strings.Join(lines, "\n"))
	return err
}

func stoppedBackup(ctx context.Context, err error, site *site, b *v1alpha1.Backup, o backupOptions) error {
	again := fmt.Sprintf("the controller continues: %s. See the result:\n  %s", presentBackup(b), site.kubectl("bpa backups "+b.Spec.Provisioning, ""))
	switch {
	case errors.Is(context.Cause(ctx), errTimeout):
		return exitf(codeTimeout, "timeout of %v; %s", o.waiting.timeout, again)
	case ctx.Err() != nil:
		return exitf(codeInterrupted, "interrupted; %s", again)
	}
	return err
}
