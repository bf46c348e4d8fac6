package provisioning

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akraino-icn/bpa/pkg/access"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/owned"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
)

// behind is how long to wait for a stale cache to be updated. leaving is how long to wait for
// Kubernetes' garbage collector to delete objects. deprovisioning is how long to wait for Metal3,
// which needs minutes, if no change of a host is seen before.
const (
	behind         = time.Second
	leaving        = 2 * time.Second
	deprovisioning = 15 * time.Second
)

// notYet is returned if a step must wait. It is not a failure: the obstacle disappears by itself,
// or the message tells the user what to do.
type notYet struct {
	why   string
	after time.Duration
}

func (n *notYet) Error() string { return n.why }

// ensure is owned.Ensure for objects of a Provisioning, of which none exists before its first run. It waits for an
// object of another owner, which may be an earlier Provisioning of the same name.
func ensure[T owned.Kind](ctx context.Context, p *v1alpha1.Provisioning, client owned.Client[T], want T, put func(have, want T)) (T, error) {
	write := owned.Ensure[T]
	if p.Status.Run == nil {
		write = owned.Make[T]
	}
	have, err := write(ctx, p, client, want, put)
	return have, explainForeign(err)
}

// explainForeign tells a user what to do about an object of another owner.
func explainForeign(err error) error {
	var foreign *owned.ForeignError
	if errors.As(err, &foreign) {
		return &notYet{foreign.What + " exists and does not belong to this Provisioning: delete it, unless an earlier Provisioning of this name is still being deleted", leaving}
	}
	return err
}

func copyRules(have, want *rbacv1.Role)        { have.Rules = want.Rules }
func copySubjects(h, want *rbacv1.RoleBinding) { h.Subjects = want.Subjects }
func keep[T any](T, T)                         {}

// copyKubeconfig replaces a kubeconfig that cannot be used, that the cluster denies, or that is of before
// a restore of the cluster. It leaves a usable
// one alone, which the cache does not show yet: it can be newer than the results of the last run. It always
// restores the labels, because the cache selects Secrets by them. AnnotationRevoked stays: it names the
// users whose rights are then deleted.
func (r *Reconciler) copyKubeconfig(have, want *corev1.Secret) {
	if have.Labels == nil {
		have.Labels = map[string]string{}
	}
	maps.Copy(have.Labels, want.Labels)
	_, expires, err := resources.ReadKubeconfig(have)
	ofRestore := have.Annotations[contract.AnnotationRestored] == want.Annotations[contract.AnnotationRestored]
	if err == nil && expires.After(r.clock.Now()) && have.Annotations[contract.AnnotationDenied] == "" && ofRestore {
		return
	}
	have.Data = want.Data
	if have.Annotations == nil {
		have.Annotations = map[string]string{}
	}
	delete(have.Annotations, contract.AnnotationRotated)
	delete(have.Annotations, contract.AnnotationDenied)
	maps.Copy(have.Annotations, want.Annotations)
}

// copyKey replaces a key whose request is for a user that is not BPA's. The next kubeconfig then has a user of its
// own. Any other key stays.
func copyKey(have, want *corev1.Secret) {
	if !ofOwnUser(have) {
		have.Data = want.Data
	}
}

// ofOwnUser reports whether the request for a certificate is for a user of its own.
func ofOwnUser(key *corev1.Secret) bool {
	_, own := access.UserOf(key.Data[resources.KeyCSR])
	return own
}

// ensureObjects creates or updates the objects that a run needs, except the run itself. It returns
// the certificate request, and the UID of the ConfigMap with the request of the run.
func (r *Reconciler) ensureObjects(ctx context.Context, p *v1alpha1.Provisioning, seen plan.Seen, next plan.Step) (csr string, uid types.UID, err error) {
	core, rbac := r.kube.CoreV1(), r.kube.RbacV1()
	operation, request := contract.OperationOf(next.Operation), requestFor(seen, next)
	if request.ClusterCA, err = r.knownCA(p, seen, next.Operation); err != nil {
		return "", "", err
	}
	var secrets []string
	if operation.Has(contract.TaskSelectHosts) {
		if secrets, err = r.ensureHostAccess(ctx, p, &request); err != nil {
			return "", "", err
		}
	}
	tasks := tasksOf(operation, next.Plugins)
	for _, account := range resources.MakeServiceAccounts(p, tasks) {
		if _, err := ensure(ctx, p, core.ServiceAccounts(p.Namespace), account, keep); err != nil {
			return "", "", err
		}
	}
	roles := tasks
	if !operation.Has(contract.TaskSelectHosts) && p.Status.Run != nil { // its Role loses the Secrets that it needs no more
		roles = append(slices.Clip(tasks), contract.TaskOf(contract.TaskSelectHosts))
	}
	for _, role := range resources.MakeRoles(p, roles, next.Number, secrets) {
		if _, err := ensure(ctx, p, rbac.Roles(p.Namespace), role, copyRules); err != nil {
			return "", "", err
		}
	}
	for _, binding := range resources.MakeRoleBindings(p, tasks) {
		if _, err := ensure(ctx, p, rbac.RoleBindings(p.Namespace), binding, copySubjects); err != nil {
			return "", "", err
		}
	}
	for _, cm := range resources.MakeTaskConfigMaps(p) {
		if _, err := ensure(ctx, p, core.ConfigMaps(p.Namespace), cm, keep); err != nil {
			return "", "", err
		}
	}
	if err := r.ensureRecords(ctx, p, next.Plugins, request.Software != nil); err != nil {
		return "", "", err
	}
	if request.Nodes, err = r.nodesOf(ctx, p, seen, next, request); err != nil {
		return "", "", err
	}
	cm, err := resources.MakeRequestConfigMap(p, request, next.Number)
	if err != nil {
		return "", "", err
	}
	if _, err = r.ensureOfRun(ctx, p, resources.MakeOutcomeConfigMap(p, next.Number)); err != nil {
		return "", "", err
	}
	if uid, err = r.ensureOfRun(ctx, p, cm); err != nil {
		return "", "", err
	}
	csr, err = r.ensureKey(ctx, p)
	return csr, uid, err
}

// tasksOf returns the tasks of a run. A run that neither installs nor removes plugins never starts that task.
func tasksOf(operation contract.Operation, plugins bool) []contract.Task {
	return slices.DeleteFunc(operation.Tasks(), func(t contract.Task) bool {
		return t.Name == contract.TaskInstallPlugins && !plugins && operation.Name != contract.OperationPlugins
	})
}

// knownCA returns the CA, in PEM, that the stored kubeconfig of the cluster trusts, or else the one for
// health checks; empty: it is not known. A restore gives the cluster the CA of the backup, so a kubeconfig of
// before it does not count.
func (r *Reconciler) knownCA(p *v1alpha1.Provisioning, seen plan.Seen, operation string) (string, error) {
	if !seen.Complete() || operation == contract.OperationRestore {
		return "", nil
	}
	restored := ""
	if seen.Memory != nil {
		restored = seen.Memory.Restored
	}
	for _, name := range []string{contract.KubeconfigName(p.Name), contract.HealthKubeconfigName(p.Name)} {
		secret, err := r.secret(p, name)
		if err != nil {
			return "", err
		}
		if secret == nil || secret.Annotations[contract.AnnotationRestored] != restored {
			continue
		}
		if k, err := r.readKubeconfig(p, secret); err == nil {
			return string(k.CA), nil
		}
	}
	return "", nil
}

// ensureRecords creates the ConfigMaps in which tasks store the state of plugins and of software, if they do
// not exist.
func (r *Reconciler) ensureRecords(ctx context.Context, p *v1alpha1.Provisioning, plugins, software bool) error {
	maps := r.kube.CoreV1().ConfigMaps(p.Namespace)
	if plugins {
		if _, err := ensure(ctx, p, maps, resources.MakePluginsConfigMap(p), keep); err != nil {
			return err
		}
	}
	if !software {
		return nil
	}
	_, err := ensure(ctx, p, maps, resources.MakeSoftwareConfigMap(p), keep)
	return err
}

// ensureKey makes sure that the key of the kubeconfig exists, and returns its certificate request.
func (r *Reconciler) ensureKey(ctx context.Context, p *v1alpha1.Provisioning) (csr string, err error) {
	secrets, name := r.kube.CoreV1().Secrets(p.Namespace), contract.KubeconfigKeyName(p.Name)
	if have, err := secrets.Get(ctx, name, metav1.GetOptions{}); err == nil && metav1.IsControlledBy(have, p) && ofOwnUser(have) {
		return string(have.Data[resources.KeyCSR]), nil // a new key for each run would cost more than the rest of its objects
	}
	key, err := resources.MakeKubeconfigKey(p, r.random)
	if err != nil {
		return "", err
	}
	key, err = ensure(ctx, p, secrets, key, copyKey)
	if err != nil {
		return "", err
	}
	return string(key.Data[resources.KeyCSR]), nil
}
