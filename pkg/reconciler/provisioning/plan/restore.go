package plan

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/change"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// Source is the Backup that a restore needs.
type Source struct {
	// Backup is nil if it does not exist.
	Backup *v1alpha1.Backup
	// Key explains why the Secret with the private key does not open the Backup; empty: it does, as far as
	// is known.
	Key string
}

// RestoreAsked returns the value of contract.AnnotationRestore for which a restore is due or refused;
// empty: none is. A restore that has begun is always completed, even if the annotation was removed,
// because the cluster cannot be used before that. None of the last complete restores is due again, for
// example if an old manifest is applied again.
func (s Seen) RestoreAsked() string {
	if s.Memory != nil && s.Memory.Restoring != "" {
		if s.Restore != "" {
			return s.Restore
		}
		return s.Memory.Restoring
	}
	if s.Memory != nil && s.Memory.WasRestored(s.Restore) || s.Restore == s.restoredBefore() {
		return ""
	}
	return s.Restore
}

// restoredBefore returns the request of the last complete restore in the stored status. It is known even
// if the record of the cluster was rebuilt, so that an old annotation does not restore the cluster again.
func (s Seen) restoredBefore() string {
	if s.Restored != nil && s.Restored.State == v1alpha1.RestoreComplete {
		return s.Restored.Requested
	}
	return ""
}

// RestoreFrom returns the name of the Backup in a request, and whether the request accepts the loss of
// the present content of etcd.
func RestoreFrom(asked string) (backup string, force bool) {
	words := strings.Fields(asked)
	if len(words) == 0 {
		return "", false
	}
	return words[0], slices.Contains(words[1:], contract.RestoreForce)
}

// NeedsBackups reports whether the plan depends on Backups: a restore is requested, or etcd has lost its
// majority.
func (s Seen) NeedsBackups() bool { return s.RestoreAsked() != "" || s.Complete() && !s.quorum() }

// restores reports whether the next operation is a restore.
func (s Seen) restores() bool {
	return s.RestoreAsked() != "" && s.Complete() && s.Invalid == "" && !s.Deleting && s.RestoreProblem() == ""
}

// restore describes the restore that is due.
func (s Seen) restore() *contract.Restore {
	asked := s.RestoreAsked()
	name, force := RestoreFrom(asked)
	status := s.Source.Backup.Status
	return &contract.Restore{Asked: asked, Backup: name, Artifact: path.Base(status.Artifact), SHA256: status.SHA256, Force: force}
}

// otherRestore reports whether the newest run, which failed, says nothing about what is to be done now: a
// restore is due that it was not for, or it was for a restore that was taken back before it changed
// anything.
func (s Seen) otherRestore(newest Run) bool {
	if s.restores() {
		return newest.Restore != s.RestoreAsked()
	}
	return newest.Restore != "" && s.Memory != nil && !s.Memory.WasRestored(newest.Restore)
}

// gone returns the names of the lost nodes that the operation replaces or, in a restore, leaves out.
// None of them may go on with the old members of etcd.
func gone(step change.Step) []string {
	if step.Request.Restore == nil {
		return step.Replace
	}
	return slices.Concat(step.Replace, step.Remove)
}

// RestoreProblem returns why the requested restore does not start, and what to do; empty: nothing is
// wrong.
func (s Seen) RestoreProblem() string {
	asked := s.RestoreAsked()
	name, force := RestoreFrom(asked)
	switch {
	case asked == "":
		return ""
	case name == "":
		return "annotation " + contract.AnnotationRestore + " names no Backup. What to do: " + s.restoreOther()
	case !s.Complete():
		return "no cluster is installed that could be restored"
	case s.Memory == nil:
		return "the record of the installed cluster is missing, so it is not known which hosts are its control planes"
	}
	if why := s.SourceProblem(name); why != "" {
		return why
	}
	if why := change.WhyNotRestored(s.withoutRestore(nil), s.Source.Backup.Status.KubernetesVersion); why != "" {
		return fmt.Sprintf("Backup %s cannot be restored: %s. What to do: %s", name, why, s.restoreOther())
	}
	if s.quorum() && !force && s.Memory.Restoring == "" {
		return fmt.Sprintf("most members of etcd have their hosts, and a restore would replace what etcd contains now by the content of Backup %s. "+
			"What to do: if the machines of control planes are dead, although their hosts look well: %s for each of them, then `%s`. "+
			"If the content of etcd is lost or not wanted: `%s --force`", name, s.declareDead("HOST"), s.restoreCommand(name), s.restoreCommand(name))
	}
	return ""
}

// SourceProblem returns why the Backup cannot be used, and what to do; empty: it can.
func (s Seen) SourceProblem(name string) string {
	other := ". What to do: " + s.restoreOther()
	b := s.Source.Backup
	if b == nil {
		return fmt.Sprintf("there is no Backup %s in namespace %s", name, s.Namespace) + other
	}
	status := b.Status
	switch {
	case b.DeletionTimestamp != nil && status.KeptUntil == nil && !s.Began(name): // its copy stays for a restore that has begun
		return fmt.Sprintf("Backup %s is being deleted", name) + other
	case b.Spec.Provisioning != s.Name:
		return fmt.Sprintf("Backup %s is of Provisioning %s", name, b.Spec.Provisioning) + other
	case !status.IsSucceeded():
		return fmt.Sprintf("Backup %s has not succeeded", name) + other
	case status.Artifact == "" || status.SHA256 == "" || status.Recipient == "":
		return fmt.Sprintf("the status of Backup %s does not describe its copy: artifact, sha256 or recipient is missing", name) + other
	case status.ClusterUID != s.Request.UID:
		return fmt.Sprintf("Backup %s is of an earlier cluster of the same name (%s), whose keys the workers of this one (%s) do not know", name, status.ClusterUID, s.Request.UID) + other
	case s.Request.DepotURL == "":
		return fmt.Sprintf("there is no depot, so the copy of Backup %s cannot be read. What to do: set depot-url in ConfigMap config-bpa to %s", name, status.Depot)
	}
	return s.Source.Key
}

// Began reports whether a restore of this Backup has begun and is not complete.
func (s Seen) Began(name string) bool {
	if s.Memory == nil || s.Memory.Restoring == "" {
		return false
	}
	half, _ := RestoreFrom(s.Memory.Restoring)
	return half == name
}

// KeyProblem describes a Secret that does not open the Backup, and what to do. missing means that there is
// no Secret.
func KeyProblem(b *v1alpha1.Backup, missing bool, why error) string {
	secret := contract.BackupKeyName(b.Spec.Provisioning)
	command, first := fmt.Sprintf("kubectl create secret generic -n %s %s --from-file=identity=FILE", b.Namespace, secret), ""
	if !missing {
		first, command = "keep a copy of the Secret, because other Backups may need it; then ", command+" --dry-run=client -o yaml | kubectl replace -f -"
	}
	return fmt.Sprintf("Backup %s cannot be opened with Secret %s: %v. What to do: %sstore the private key for %s: `%s`", b.Name, secret, why, first, b.Status.Recipient, command)
}

// restoreCommand returns the command that requests a restore.
func (s Seen) restoreCommand(backup string) string {
	return fmt.Sprintf("kubectl bpa restore -n %s %s --from %s", s.Namespace, s.Name, backup)
}

// declareDead returns the command that declares a machine dead. Metal3 does not notice that a machine has no
// operating system any more.
func (s Seen) declareDead(host string) string {
	return fmt.Sprintf("`kubectl annotate bmh -n %s %s %s=dead`", cmp.Or(s.Request.Pool, s.Namespace), host, contract.AnnotationQuarantine)
}

// deadHint tells a user what to do if a restore fails because the machine of a control plane, which looks
// well, does not answer; empty: this is not the cause. Only a request without force is then needed,
// or another attempt if the restore has begun.
func (s Seen) deadHint(r Run, cause Cause) string {
	if r.Operation != contract.OperationRestore || cause.Reason != contract.ReasonHostUnreachable {
		return ""
	}
	host := "HOST"
	if i := slices.IndexFunc(s.nodes(), func(n contract.Node) bool { return n.Name == cause.Host }); i >= 0 {
		host = s.nodes()[i].Host
	}
	name, _ := RestoreFrom(r.Restore)
	again := s.restoreCommand(name)
	if s.Memory != nil && s.Memory.Restoring != "" {
		again = fmt.Sprintf("kubectl bpa retry -n %s %s", s.Namespace, s.Name)
	}
	return fmt.Sprintf("if the machine is dead, another one takes its place: %s, then `%s`", s.declareDead(host), again)
}

// restoreOther tells a user how to name another Backup.
func (s Seen) restoreOther() string {
	return fmt.Sprintf("name another one: `kubectl bpa backups -n %s %s` lists them, and `%s` requests the restore", s.Namespace, s.Name, s.restoreCommand("BACKUP"))
}

// restoreRefused starts nothing while a requested restore cannot start: the user wants the content of the
// Backup before anything else.
func restoreRefused(s Seen, _ time.Time) (Step, bool) {
	why := s.RestoreProblem()
	return Step{Do: Stay, Reason: ReasonRestoreRefused, Message: s.refusedRestore(why)}, why != ""
}

// refusedRestore completes the message of a restore that does not start.
func (s Seen) refusedRestore(why string) string {
	if s.Memory != nil && s.Memory.Restoring != "" {
		half, _ := RestoreFrom(s.Memory.Restoring)
		return fmt.Sprintf("the restore of Backup %s has begun and is not complete, so the cluster cannot be used, and it does not go on: %s", half, why)
	}
	return fmt.Sprintf("the requested restore does not start: %s. Or take the request back: `kubectl annotate -n %s bpa %s %s-`",
		why, s.Namespace, s.Name, contract.AnnotationRestore)
}

// restoreAdvice tells a user how to restore a cluster whose etcd has lost its majority.
func (s Seen) restoreAdvice() string {
	if s.Backup == nil {
		return "there is no Backup of the cluster to restore; or delete the Provisioning and apply it again"
	}
	at := ""
	if t := s.Backup.Status.StartTime; t != nil {
		at = " of " + t.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("or restore the newest Backup%s, and lose what was written after it: `%s`", at, s.restoreCommand(s.Backup.Name))
}

// NewestBackup returns the newest successful Backup of the cluster of p; nil: there is none. A Backup of an
// earlier cluster of the same name does not count.
func NewestBackup(p *v1alpha1.Provisioning, all []*v1alpha1.Backup) *v1alpha1.Backup {
	var newest *v1alpha1.Backup
	for _, b := range all {
		begun := b.Status.StartTime
		switch {
		case b.Spec.Provisioning != p.Name || !b.Status.IsSucceeded() || b.Status.SHA256 == "" || b.DeletionTimestamp != nil || begun == nil || b.Status.ClusterUID != p.ClusterUID():
		case newest == nil || newest.Status.StartTime.Before(begun):
			newest = b
		}
	}
	return newest
}
