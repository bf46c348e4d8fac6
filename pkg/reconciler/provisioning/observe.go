package provisioning

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/observe"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
)

// observe reads the state of one Provisioning into plain facts. While the state does not change, it
// reads only caches. It asks the API server itself if a decision requires current data: before a
// run starts, and during deletion.
func (r *Reconciler) observe(ctx context.Context, p *v1alpha1.Provisioning, now time.Time) (plan.Seen, error) {
	settings := r.settings()
	given := observe.Given{Settings: settings.Settings, Invalid: settings.Invalid}
	var err error
	if given.SecretVars, given.Vars, err = r.observeVars(ctx, p, p.DeletionTimestamp != nil); err != nil {
		return observe.Written(p, given), err
	}
	seen, err := observe.Facts(ctx, p, given, r.reader(ctx, p))
	if err != nil {
		return seen, err
	}
	err = inOrder(
		func() error { return r.observeChecks(p, &seen) },
		func() error { return r.observeKubeconfig(p, now, &seen) },
		func() error { return r.observeKeyChange(ctx, p, &seen) },
		func() error { return r.observeSoftware(ctx, p, &seen) },
		func() error { return r.observeBackups(ctx, p, &seen) },
		func() error { return r.observeHealth(p, settings, &seen) },
	)
	if err != nil {
		return seen, err
	}
	return r.observeNext(ctx, p, seen, now)
}

// inOrder calls the functions until one fails, and returns its error.
func inOrder(all ...func() error) error {
	for _, one := range all {
		if err := one(); err != nil {
			return err
		}
	}
	return nil
}

// observeNext checks what the next run needs, if one is to start.
func (r *Reconciler) observeNext(ctx context.Context, p *v1alpha1.Provisioning, seen plan.Seen, now time.Time) (plan.Seen, error) {
	if err := observe.Pins(p, r.reader(ctx, p), &seen); err != nil {
		return seen, err
	}
	complete := seen
	complete.Fix()
	step, starts := plan.Upcoming(complete, now)
	if !starts {
		return complete, r.observeBeside(ctx, p, &complete, now)
	}
	err := r.observeUpcoming(ctx, p, step, &seen, now)
	seen.Fix()
	return seen, err
}

// observeUpcoming checks what the run of this step needs, and that no Backup excludes it.
func (r *Reconciler) observeUpcoming(ctx context.Context, p *v1alpha1.Provisioning, step plan.Step, seen *plan.Seen, now time.Time) error {
	if contract.OperationOf(step.Operation).ExcludesBackup() {
		var err error
		if seen.BackingUp, err = r.activeBackup(p); err != nil || seen.BackingUp != "" {
			return err
		}
	}
	return r.observeStart(ctx, p, step, seen, now)
}

// observeStart checks what a run needs: hosts, a key, and a free run. A Provisioning that already
// waits for a free run checks the hosts and the key again when its turn comes. Before that, the
// check would cost time, and a host that is away for a minute would cost the place.
func (r *Reconciler) observeStart(ctx context.Context, p *v1alpha1.Provisioning, step plan.Step, seen *plan.Seen, now time.Time) error {
	if isWaiting(p) {
		if seen.Queue = r.queue.observe(p, seen.Limits.Runs, now); !seen.Queue.Turn() {
			return nil
		}
		seen.Queue = nil
	}
	if err := r.observeNeeds(ctx, p, step, seen, now); err != nil {
		return err
	}
	if plan.Next(*seen, now).Do == plan.StartRun { // nothing but a free run can be missing
		seen.Queue = r.queue.observe(p, seen.Limits.Runs, now)
	}
	return nil
}

// observeDeletion asks the API server itself what may work on the hosts, and whether the namespace is
// being deleted too.
func (r *Reconciler) observeDeletion(ctx context.Context, p *v1alpha1.Provisioning, seen *plan.Seen) error {
	namespace, err := r.kube.CoreV1().Namespaces().Get(ctx, p.Namespace, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("get namespace %s: %w", p.Namespace, err)
	}
	seen.Terminating = err == nil && namespace.DeletionTimestamp != nil
	return r.observeWorkersLive(ctx, p, "", seen)
}

func slotNames(r contract.Request) (names []string) {
	for _, s := range r.Slots {
		names = append(names, s.Name)
	}
	return names
}

// observeKubeconfig reads the kubeconfig, and what another one could be made from.
func (r *Reconciler) observeKubeconfig(p *v1alpha1.Provisioning, now time.Time, seen *plan.Seen) error {
	secret, err := r.secret(p, contract.KubeconfigName(p.Name))
	if err != nil {
		return err
	}
	if secret != nil {
		seen.Kubeconfig = &plan.Kubeconfig{}
		if k, err := r.readKubeconfig(p, secret); err != nil {
			seen.Kubeconfig.Broken = err.Error()
		} else {
			seen.Kubeconfig.Endpoint, seen.Kubeconfig.Expires = k.Server, k.Leaf.NotAfter
		}
		if since := secret.Annotations[contract.AnnotationDenied]; seen.Kubeconfig.Broken == "" && since != "" {
			seen.Kubeconfig.Broken = "the cluster denies it since " + since
		} else if m := seen.Memory; seen.Kubeconfig.Broken == "" && m != nil && !seen.Rebuilt && m.Restored != "" && secret.Annotations[contract.AnnotationRestored] != m.Restored {
			seen.Kubeconfig.Broken, seen.Kubeconfig.Outdated = "it is of before the restore of the cluster", true
		}
	}
	key, err := r.secret(p, contract.KubeconfigKeyName(p.Name))
	if err != nil {
		return err
	}
	if access := accessOf(*seen, secret, key); access != nil && key != nil {
		seen.Collected = r.collectedUntil(p, access, key).After(now)
	}
	return nil
}

// collected returns the results of the last task collect-kubeconfig that has succeeded, also while later tasks of its run are
// active or after they have failed. It returns nil if there are none.
func collected(seen plan.Seen) *resources.Access {
	last := plan.LastCollected(seen.Runs)
	if last < 0 {
		return nil
	}
	tasks := seen.Runs[last].Tasks
	results := tasks[slices.IndexFunc(tasks, func(t plan.Task) bool { return t.Name == contract.TaskCollectKubeconfig })].Results
	return &resources.Access{
		CA:          results[contract.ResultCA],
		Certificate: results[contract.ResultCertificate],
		Endpoint:    results[contract.ResultEndpoint],
	}
}

// accessOf returns what the kubeconfig can be created from: the results of a run, or what the Secret with its key has kept
// of them; nil: nothing. The latter does not replace a kubeconfig that the cluster denies, or one of before a restore.
func accessOf(seen plan.Seen, kubeconfig, key *corev1.Secret) *resources.Access {
	access := collected(seen)
	if access != nil || key == nil || seen.Memory == nil || seen.Rebuilt || seen.Memory.Restoring != "" {
		return access
	}
	restores := slices.ContainsFunc(seen.Runs, func(r plan.Run) bool { return r.Operation == contract.OperationRestore })
	denied := kubeconfig != nil && kubeconfig.Annotations[contract.AnnotationDenied] != ""
	if restores || denied || key.Annotations[contract.AnnotationRestored] != seen.Memory.Restored {
		return nil
	}
	return resources.KeptAccess(key)
}
