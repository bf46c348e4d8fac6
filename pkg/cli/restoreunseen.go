package cli

import (
	"context"
	"fmt"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
)

// unseen checks the Backup of a restore for a user without permission to read the hosts and the record of the cluster: bpa-edit alone
// has none. The controller checks everything before it starts a run. why is the error of the API server.
func (s *site) unseen(ctx context.Context, asked *v1alpha1.Provisioning, why error) (foundRestore, error) {
	seen := plan.Seen{Namespace: asked.Namespace, Name: asked.Name, Restore: asked.Annotations[contract.AnnotationRestore]}
	seen.Request.UID = asked.ClusterUID()
	if err := s.source(ctx, asked, &seen); err != nil {
		return foundRestore{}, err
	}
	name, force := plan.RestoreFrom(seen.Restore)
	if !force && asked.Status.IsRestoring() {
		return foundRestore{}, s.begun(asked.Name, asked.Status.Restore.Backup)
	}
	if b := seen.Source.Backup; b != nil {
		seen.Request.DepotURL = b.Status.Depot // the controller knows the settings
	}
	if problem := seen.SourceProblem(name); problem != "" {
		return foundRestore{}, fmt.Errorf("nothing was changed: %s", problem)
	}
	return foundRestore{seen: seen, unseen: why}, nil
}

// begun is the answer to the request of a restore that is half done.
func (s *site) begun(name, backup string) error {
	return fmt.Errorf("nothing was changed: the restore of %s from Backup %s has begun and is not complete. A new request would begin it again, and "+
		"delete what was written since etcd has the content of the Backup. Complete it instead:\n  %s", name, backup, s.kubectl("bpa retry "+name, ""))
}

// unseenLines say what was not checked.
func (f foundRestore) unseenLines() []string {
	if f.unseen == nil {
		return nil
	}
	return []string{
		"  Which control planes are lost was not checked: " + clean(f.unseen.Error()),
		"  The controller checks it before it starts a run. If it starts none, the reason is RestoreRefused, with what to do.",
	}
}
