package provisioning

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/change"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/contract/from"
	"github.com/akraino-icn/bpa/pkg/reconciler/caches"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
	"github.com/akraino-icn/bpa/pkg/ssh"
)

// observe reads the state of one Provisioning into plain facts. While the state does not change, it
// reads only caches. It asks the API server itself if a decision requires current data: before a
// run starts, and during deletion.
func (r *Reconciler) observe(ctx context.Context, p *v1alpha1.Provisioning, now time.Time) (plan.Seen, error) {
	settings := r.settings()
	seen := asWritten(p, settings)
	secretVars, problem, err := r.observeVars(ctx, p, seen.Deleting)
	if seen.Vars = problem; err != nil {
		return seen, err
	}
	if err = observeSpec(p, settings, secretVars, &seen); err != nil {
		seen.Invalid = err.Error()
	}
	if seen.Deleting {
		err = r.observeDeletion(ctx, p, &seen)
	} else {
		err = r.observeRuns(p, &seen)
	}
	if err != nil {
		return seen, err
	}
	err = inOrder(
		func() error { return r.observePlugins(p, &seen) },
		func() error { return r.observeStarted(ctx, p, settings, &seen) },
		func() error { return r.observeLastRemoval(ctx, p, &seen) },
		func() error { return r.observeObjects(ctx, p, now, &seen) },
		func() error { return r.observeKeyChange(ctx, p, &seen) },
		func() error { return r.observeSite(ctx, p, &seen) },
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

// asWritten returns what the Provisioning itself says, and the limits of the site.
func asWritten(p *v1alpha1.Provisioning, settings caches.Settings) plan.Seen {
	return plan.Seen{
		Namespace:       p.Namespace,
		Name:            p.Name,
		Generation:      p.Generation,
		Deleting:        p.DeletionTimestamp != nil,
		Foreground:      slices.Contains(p.Finalizers, metav1.FinalizerDeleteDependents),
		Paused:          p.Spec.Paused,
		Retain:          p.Spec.DeletionPolicy == v1alpha1.DeletionRetain,
		Retry:           p.Annotations[contract.AnnotationRetry],
		Restore:         p.Annotations[contract.AnnotationRestore],
		Restored:        p.Status.Restore,
		InstalledDigest: p.Status.InstalledDigest,
		ObservedRetry:   p.Status.ObservedRetry,
		Numbered:        numbered(p),
		PassedOver:      p.Status.PassedOver,
		Replace:         p.Spec.ReplacePolicy,
		Limits: plan.Limits{Attempts: settings.MaxAttempts, History: settings.RunHistory, HistoryAge: settings.RunHistoryAge, Runs: settings.MaxRuns,
			Drain: p.Spec.Timeouts.DrainTimeout(), UpgradeDrain: p.Spec.DrainTimeout(), Run: p.Spec.Timeouts.InstallTimeout()},
		Upgrade:     p.Spec.Upgrade,
		Unapplied:   plan.Unapplied(p),
		Unconfirmed: plan.UnconfirmedIn(&p.Status),
		Settings:    settings.Invalid,
		Depot:       from.DepotProblem(p, settings.Depot),
	}
}

// numbered returns the largest number of the runs in the status; 0: there is none.
func numbered(p *v1alpha1.Provisioning) (n int32) {
	if run := p.Status.Run; run != nil {
		n = resources.RunNumber(run.Name)
	}
	if packages := p.Status.Software; packages != nil {
		n = max(n, resources.RunNumber(packages.Run))
	}
	return n
}

// observeNext checks what the next run needs, if one is to start.
func (r *Reconciler) observeNext(ctx context.Context, p *v1alpha1.Provisioning, seen plan.Seen, now time.Time) (plan.Seen, error) {
	if err := r.observePins(p, &seen); err != nil {
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

// observeSpec builds the request of this reconcile. All decisions and actions of the reconcile use
// this request.
func observeSpec(p *v1alpha1.Provisioning, settings caches.Settings, secretVars map[string]string, seen *plan.Seen) error {
	request, err := from.Provisioning(p, settings.Depot)
	if err != nil {
		return err
	}
	request.SecretVars = secretVars
	seen.Request = request
	seen.Slots, seen.Sets = slotNames(request), request.Sets
	if !hasControlPlane(request) {
		return errors.New("the spec has no control plane node: add a node to spec.masters, or a node set with role control-plane")
	}
	if seen.Digest, err = from.Digest(request); err != nil {
		return err
	}
	seen.Inputs, err = from.Inputs(p, request)
	return err
}

// observeStarted reads the spec from which the newest run was started, and compares it with the
// current spec. If another build of BPA started the run, that build may have computed another
// digest for the same spec. Therefore observeStarted replaces the run's digest in seen by the
// digest that this build computes for the run. The stored digest does not change.
func (r *Reconciler) observeStarted(ctx context.Context, p *v1alpha1.Provisioning, settings caches.Settings, seen *plan.Seen) error {
	cm, err := r.requestOf(ctx, p, seen.Newest())
	if err != nil || cm == nil {
		return err
	}
	seen.Started = r.readRequest(p, cm)
	was := startedFrom(ctx, p, cm)
	if was == nil || seen.Unedited() {
		return nil
	}
	request, err := from.Provisioning(was, settings.Depot)
	if err != nil {
		return nil // another build of BPA wrote the spec in the ConfigMap
	}
	request.SecretVars = seen.Started.SecretVars
	digest, err := from.Digest(request)
	if err != nil {
		return err
	}
	seen.Recompute(digest)
	seen.Changes = resources.Changes(was, p)
	seen.VarsChanged = change.SecretVars(request, seen.Request)
	seen.Revertible = len(seen.Changes) > 0 || len(seen.VarsChanged) == 0 // a Secret cannot be restored
	for _, name := range seen.VarsChanged {
		seen.Changes = append(seen.Changes, "variable "+name+" in a Secret")
	}
	before, err := inputsOfRun(was, request)
	if err != nil || seen.Invalid != "" {
		return err
	}
	after, err := inputsOfRun(p, seen.Request)
	seen.Edited = before != after
	return err
}

// observeLastRemoval reads what the last run that is not only for a kubeconfig or for plugins was to remove.
func (r *Reconciler) observeLastRemoval(ctx context.Context, p *v1alpha1.Provisioning, seen *plan.Seen) error {
	cm, err := r.requestOf(ctx, p, seen.LastChange())
	if err == nil && cm != nil {
		seen.Removal = r.readRequest(p, cm).Remove
	}
	return err
}

// inputsOfRun returns the digest of the inputs of a run, without time-outs and standby hosts. If an
// edit changes this digest, an active run is obsolete.
func inputsOfRun(p *v1alpha1.Provisioning, request contract.Request) (string, error) {
	p = p.DeepCopy()
	p.Spec.Timeouts = v1alpha1.TimeoutsSpec{}
	request.Sets = slices.Clone(request.Sets)
	for i := range request.Sets {
		request.Sets[i].Standby = 0
	}
	return from.Inputs(p, request)
}

// startedFrom returns the Provisioning as it was when the newest run was started. It returns nil if
// that is not known.
func startedFrom(ctx context.Context, p *v1alpha1.Provisioning, cm *corev1.ConfigMap) *v1alpha1.Provisioning {
	started := resources.ReadStarted(cm)
	if started == nil {
		return nil
	}
	was := p.DeepCopy()
	was.Spec = *started
	was.SetDefaults(ctx)
	return was
}

func slotNames(r contract.Request) (names []string) {
	for _, s := range r.Slots {
		names = append(names, s.Name)
	}
	return names
}

func hasControlPlane(r contract.Request) bool {
	return slices.ContainsFunc(r.Slots, func(s contract.Slot) bool { return slices.Contains(s.Roles, contract.RoleControlPlane) }) ||
		slices.ContainsFunc(r.Sets, func(s contract.Set) bool { return s.Active > 0 && slices.Contains(s.Roles, contract.RoleControlPlane) })
}

// observeObjects reads the objects that tasks wrote, and the kubeconfig.
func (r *Reconciler) observeObjects(ctx context.Context, p *v1alpha1.Provisioning, now time.Time, seen *plan.Seen) error {
	if err := r.readJSON(p, contract.ProgressName(p.Name), contract.KeyProgress, &seen.Progress); err != nil {
		return err
	}
	progress, err := r.configMap(p, contract.ProgressName(p.Name))
	if err != nil {
		return err
	}
	if progress != nil {
		seen.Ends = progress.Data[contract.KeyEnds]
	}
	known, err := r.configMap(p, contract.KnownHostsName(p.Name))
	if err != nil {
		return err
	}
	seen.Touched = known != nil && len(known.Data) > 0
	if err := r.observeStates(ctx, p, seen); err != nil {
		return err
	}
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
		} else if m := seen.Memory; seen.Kubeconfig.Broken == "" && m != nil && m.Restored != "" && secret.Annotations[contract.AnnotationRestored] != m.Restored {
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

// observePins finds out which members have no pinned SSH host key, if a user requests another run: the run is
// then to pin them. A text that cannot be parsed is left to the tasks, which report it.
func (r *Reconciler) observePins(p *v1alpha1.Provisioning, seen *plan.Seen) error {
	if !seen.Retries() {
		return nil
	}
	known, err := r.configMap(p, contract.KnownHostsName(p.Name))
	if err != nil || known == nil {
		return err
	}
	pins, err := ssh.ParsePins(known.Data[contract.KeyKnownHosts])
	if err != nil {
		return nil
	}
	for _, n := range seen.Present() {
		if n.HostUID != "" && pins.Of(n.HostUID) == nil {
			seen.Unpinned = append(seen.Unpinned, n.Name)
		}
	}
	return nil
}

// observeStates reads which hosts the task kubespray has changed. During deletion it asks the API
// server itself: a stale cache could show a host as unused that a cancelled run has just changed. If
// the record cannot be parsed, it counts as missing: then every host that a run may have reached
// counts as used.
func (r *Reconciler) observeStates(ctx context.Context, p *v1alpha1.Provisioning, seen *plan.Seen) error {
	cm, err := r.configMap(p, contract.InstalledName(p.Name))
	if err == nil && seen.Deleting {
		cm, err = r.configMapLive(ctx, p, contract.InstalledName(p.Name))
	}
	if err == nil && cm != nil {
		r.readStates(p, cm, seen)
	}
	return err
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
