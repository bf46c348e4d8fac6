package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/backup"
	"github.com/akraino-icn/bpa/pkg/change"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
)

type restoreOptions struct {
	from    string // name of the Backup
	force   bool
	yes     bool
	waiting waitFlags
	dryRun  serverDryRun
}

func newRestore(s *session) *cobra.Command {
	var o restoreOptions
	cmd := &cobra.Command{
		Use:   "restore NAME --from BACKUP",
		Short: "Restore a cluster from a backup, after most of its control planes were lost",
		Long: `Restore a cluster from a backup, after most of its control planes were lost.

The control plane nodes are installed anew with the keys of the backup: lost ones on
other hosts, the others on their own hosts, which are reset. etcd then has the content
of the backup. What was written to the cluster after the backup is lost. Workers keep
running, but they and their pods may restart.

While most members of etcd have their hosts, the command refuses. With --force it also
replaces a content of etcd that is there, for example if it is damaged.

The command gives the annotation ` + contract.AnnotationRestore + ` of the Provisioning a
value. The controller then starts the restore before any other change of the cluster.
A restore that has begun is always completed, because the cluster cannot be used before.

` + exitCodes(),
		Example: "  kubectl bpa backups edge-1\n  kubectl bpa restore edge-1 --from edge-1-20261121023000 --wait",
		Args:    oneName(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(validation.IsDNS1123Subdomain(o.from)) > 0 {
				return usageError(fmt.Errorf("--from is %q: give the name of a Backup; `kubectl bpa backups %s` lists them", o.from, args[0]))
			}
			if err := cmp.Or(o.waiting.check(), o.dryRun.check(o.waiting.wait)); err != nil {
				return err
			}
			return s.restore(cmd.Context(), args[0], o)
		},
	}
	cmd.Flags().StringVar(&o.from, "from", "", "name of the Backup (required)")
	cmd.Flags().BoolVar(&o.force, "force", false, "also restore if most members of etcd have their hosts: their present content is lost")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
	o.waiting.add(cmd, "the cluster is ready or has failed permanently", "45m")
	o.waiting.was(cmd, "follow", "")
	o.dryRun.add(cmd)
	completeArgs(cmd, s.clusterNames())
	complete(cmd, "from", s.backupNames())
	return cmd
}

// restore checks that the restore can start, asks for confirmation, and requests it. It checks again after
// the confirmation, because it may have waited for the answer for hours.
func (s *session) restore(ctx context.Context, name string, o restoreOptions) error {
	site, err := s.connect()
	if err != nil {
		return err
	}
	value := o.from + " " + s.now().UTC().Format(time.RFC3339)
	if o.force {
		value = strings.Replace(value, " ", " "+contract.RestoreForce+" ", 1)
	}
	p, found, err := site.restorable(ctx, name, value)
	if err != nil {
		return err
	}
	if o.yes || o.dryRun.on() {
		_, _ = fmt.Fprintln(s.ErrOut, found.losses(s.now()))
	} else {
		if err := s.agree(ctx, "a restore", found.losses(s.now())); err != nil {
			return err
		}
		if p, found, err = site.restorable(ctx, name, value); err != nil {
			return err
		}
	}
	before := p.DeepCopy()
	if err := o.dryRun.of(site).ask(ctx, p, contract.AnnotationRestore, value, "the restore"); err != nil {
		return err
	}
	if o.dryRun.on() {
		return s.unchanged("The restore of " + p.Name + " from Backup " + o.from + " can be requested")
	}
	_, _ = fmt.Fprintln(s.Out, strings.Join(site.afterRestore(before, found), "\n"))
	if !o.waiting.wait {
		_, err := fmt.Fprintf(s.Out, "Follow it:\n  %s\n", site.kubectl("bpa watch "+p.Name, ""))
		return err
	}
	ctx, cancel := withTimeout(ctx, o.waiting.timeout) // not before, because the confirmation takes its time
	defer cancel()
	return s.watchUntil(ctx, site, p, o.waiting.timeout, s.answered(p))
}

// foundRestore is the state of a cluster with a restore as its next operation.
type foundRestore struct {
	seen plan.Seen
	step change.Step
	// hosts has the hosts of lost control planes, as "node: host".
	hosts []string
	// unseen is why the hosts and the record of the cluster are not known; nil: they are.
	unseen error
	// noFit explains why there is no host for a lost control plane; empty: there is one for each.
	noFit string
}

// restorable compares the request with the cluster, as the controller does. It returns an error if the
// controller would refuse it.
func (s *site) restorable(ctx context.Context, name, value string) (*v1alpha1.Provisioning, foundRestore, error) {
	p, err := s.get(ctx, name)
	if err != nil {
		return nil, foundRestore{}, err
	}
	switch {
	case p.DeletionTimestamp != nil:
		return nil, foundRestore{}, fmt.Errorf("%s is being deleted: its cluster is not restored", p.Name)
	case p.Status.Restore != nil && p.Status.Restore.State == v1alpha1.RestoreRunning:
		return nil, foundRestore{}, fmt.Errorf("%s is being restored from Backup %s already. Follow it:\n  %s\nTo restore another Backup, stop the run first:\n  %s",
			p.Name, p.Status.Restore.Backup, s.kubectl("bpa watch "+p.Name, ""), s.kubectl("bpa cancel "+p.Name, ""))
	}
	asked := p.DeepCopy()
	if asked.Annotations == nil {
		asked.Annotations = map[string]string{}
	}
	asked.Annotations[contract.AnnotationRestore] = value
	seen, all, err := s.seen(ctx, asked)
	if apierrors.IsForbidden(err) {
		found, err := s.unseen(ctx, asked, err)
		return p, found, err
	}
	if err != nil {
		return nil, foundRestore{}, err
	}
	if from, force := plan.RestoreFrom(value); !force && seen.Began(from) {
		return nil, foundRestore{}, s.begun(p.Name, from)
	}
	if why := seen.RestoreProblem(); why != "" {
		return nil, foundRestore{}, fmt.Errorf("nothing was changed: %s", why)
	}
	step, ok := change.Next(seen.State())
	if !ok || step.Operation != contract.OperationRestore {
		return nil, foundRestore{}, fmt.Errorf("nothing was changed: the next operation would not be the restore. See what it is:\n  %s", s.kubectl("bpa plan "+p.Name, ""))
	}
	found := foundRestore{seen: seen, step: step}
	step.Request.Installed = seen.InstalledHosts()
	_, found.hosts, found.noFit = assigned(step.Request, &seen, all)
	return p, found, nil
}

// losses describes what the restore does, before the user confirms it.
func (f foundRestore) losses(now time.Time) string {
	b := f.seen.Source.Backup
	lines := []string{fmt.Sprintf("This restores cluster %s in namespace %s from Backup %s:", f.seen.Name, f.seen.Namespace, b.Name)}
	if t := b.Status.StartTime; t != nil {
		lines = append(lines, fmt.Sprintf("  It gets the content of %s (%s ago). Everything that was written to it since then is lost.",
			t.UTC().Format(time.RFC3339), duration.HumanDuration(max(now.Sub(t.Time), 0))))
	}
	for _, l := range []struct {
		what  string
		nodes []string
	}{
		{"Control planes that are reset, and installed anew on their own hosts", f.seen.LivingControlPlanes()},
		{"Lost control planes that get other hosts", f.step.Replace},
		{"Their hosts now", f.hosts},
		{"Lost control planes that leave the cluster, because the spec does not request them", f.step.Remove},
		{"Lost workers that stay lost for now", f.step.Request.Kept},
	} {
		if len(l.nodes) > 0 {
			lines = append(lines, fmt.Sprintf("  %s: %s.", l.what, strings.Join(l.nodes, ", ")))
		}
	}
	return strings.Join(append(lines, f.unseenLines()...), "\n")
}

// afterRestore describes, as lines, what happens next.
func (s *site) afterRestore(p *v1alpha1.Provisioning, f foundRestore) []string {
	lines := []string{fmt.Sprintf("The restore of %s from Backup %s was requested.", p.Name, f.seen.Source.Backup.Name)}
	switch {
	case p.Spec.Paused:
		return append(lines, "No run starts while it is paused. Resume it:", "  "+s.kubectl("bpa resume "+p.Name, ""))
	case running(p):
		return append(lines, fmt.Sprintf("It waits for the end of PipelineRun %s. To stop that run:", p.Status.Run.Name), "  "+s.kubectl("bpa cancel "+p.Name, ""))
	case f.noFit != "":
		return append(lines, "It waits until there is a host for each lost control plane: "+clean(f.noFit))
	}
	return lines
}

// source reads what a restore needs: the Backup, and whether the key opens it. A user without the right to
// read Secrets gets no check of the key: the controller checks it.
func (s *site) source(ctx context.Context, p *v1alpha1.Provisioning, seen *plan.Seen) error {
	if !seen.NeedsBackups() {
		return nil
	}
	var list v1alpha1.BackupList
	if err := s.client.List(ctx, &list, client.InNamespace(s.namespace)); err != nil {
		return s.explain(err)
	}
	name, _ := plan.RestoreFrom(seen.RestoreAsked())
	var all []*v1alpha1.Backup
	for i := range list.Items {
		b := &list.Items[i]
		if all = append(all, b); b.Name == name {
			seen.Source.Backup = b
		}
	}
	seen.Backup = plan.NewestBackup(p, all)
	if seen.Source.Backup == nil || seen.RestoreProblem() != "" {
		return nil
	}
	var secret corev1.Secret
	err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: contract.BackupKeyName(p.Name)}, &secret)
	switch {
	case apierrors.IsForbidden(err):
		return nil
	case apierrors.IsNotFound(err):
		seen.Source.Key = plan.KeyProblem(seen.Source.Backup, true, errors.New("it does not exist"))
		return nil
	case err != nil:
		return s.explain(err)
	}
	if why := backup.CheckIdentity(secret.Data, seen.Source.Backup.Status.Recipient); why != nil {
		seen.Source.Key = plan.KeyProblem(seen.Source.Backup, false, why)
	}
	return nil
}
