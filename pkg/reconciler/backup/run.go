package backup

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/kmeta"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/backup"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/contract/from"
	"github.com/akraino-icn/bpa/pkg/reconciler/nodeskey"
	"github.com/akraino-icn/bpa/pkg/reconciler/owned"
	"github.com/akraino-icn/bpa/pkg/runs"
	"github.com/akraino-icn/bpa/pkg/runs/tekton/convert"
)

// annotationDepot, on a run, is the address of the depot in which it stores the backup.
const annotationDepot = "bpa.akraino.org/depot"

// annotationCluster, on a run, is the identity of the cluster that it backs up.
const annotationCluster = "bpa.akraino.org/cluster-uid"

// timeout limits the time of one run.
const timeout = time.Hour

func runName(b *v1alpha1.Backup) string { return b.Name + "-backup" }

// requestName returns the name of the ConfigMap with the request. It has a dot, which the name of a
// Provisioning cannot have, so it is never the name of an object of a Provisioning.
func requestName(b *v1alpha1.Backup) string { return "backup." + b.Name }

// start creates the objects that the run needs, and then the run.
func (r *Reconciler) start(ctx context.Context, b *v1alpha1.Backup, p *v1alpha1.Provisioning) error {
	request, err := from.Provisioning(p, r.settings().Depot)
	if err != nil {
		return &notYet{fmt.Sprintf("the spec of Provisioning %s is invalid: %v", p.Name, err), time.Minute}
	}
	request.Operation = contract.OperationBackup
	recipient, err := r.recipient(ctx, p)
	if err != nil {
		return err
	}
	if err := r.ensureObjects(ctx, b, p, request); err != nil {
		return explainForeign(err)
	}
	nodesKey, enroll, err := r.nodesKey(ctx, p)
	if err != nil {
		return explainForeign(err)
	}
	run := makePipelineRun(b, p, request.DepotURL, recipient, nodesKey, enroll)
	made, err := r.tekton.TektonV1().PipelineRuns(b.Namespace).Create(ctx, run, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		if made, err = r.tekton.TektonV1().PipelineRuns(b.Namespace).Get(ctx, run.Name, metav1.GetOptions{}); err == nil && !metav1.IsControlledBy(made, b) {
			return &notYet{fmt.Sprintf("PipelineRun %s exists and does not belong to this Backup: delete it, unless an earlier Backup of this name is still being deleted", run.Name), again}
		}
	}
	if err != nil {
		return fmt.Errorf("create PipelineRun %s: %w", run.Name, err)
	}
	adopt(b, made)
	return nil
}

// explainForeign tells a user what to do about an object of another owner.
func explainForeign(err error) error {
	var foreign *owned.ForeignError
	if errors.As(err, &foreign) {
		return &notYet{foreign.What + " exists and does not belong to this Backup or its Provisioning: delete it, unless an earlier one of this name is still being deleted", again}
	}
	return err
}

// nodesKey makes sure that the SSH key of the cluster exists. It returns its fingerprint, and whether the run has to
// install it, because it is not known that the machines accept it.
func (r *Reconciler) nodesKey(ctx context.Context, p *v1alpha1.Provisioning) (fingerprint string, enroll bool, err error) {
	fingerprint, err = nodeskey.Ensure(ctx, r.kube.CoreV1().Secrets(p.Namespace), p, rand.Reader)
	if err != nil {
		return "", false, err
	}
	all, err := r.clusterRuns.PipelineRuns(p.Namespace).List(labels.SelectorFromSet(labels.Set{contract.LabelCluster: p.Name}))
	if err != nil {
		return "", false, fmt.Errorf("list PipelineRuns: %w", err)
	}
	own := slices.DeleteFunc(slices.Clone(all), func(run *tekton.PipelineRun) bool { return !metav1.IsControlledBy(run, p) })
	ofBackups, err := r.runs.PipelineRuns(p.Namespace).List(labels.Everything())
	if err != nil {
		return "", false, fmt.Errorf("list PipelineRuns of Backups: %w", err)
	}
	for _, run := range ofBackups { // of two Backups, the second one installs a key that the first one has missed
		if slices.ContainsFunc(run.Spec.Params, func(of tekton.Param) bool {
			return of.Name == contract.ParamProvisioning && of.Value.StringVal == p.Name
		}) {
			own = append(own, run)
		}
	}
	return fingerprint, !runs.Enrolled(convert.Runs(own), fingerprint), nil
}

// adopt writes into the status what the run was started with.
func adopt(b *v1alpha1.Backup, run *tekton.PipelineRun) {
	b.Status.Run, b.Status.Depot, b.Status.ClusterUID = run.Name, run.Annotations[annotationDepot], run.Annotations[annotationCluster]
	b.Status.Artifact = artifactOf(b).FilePath()
	for _, p := range run.Spec.Params {
		if p.Name == contract.ParamRecipient {
			b.Status.Recipient = p.Value.StringVal
		}
	}
}

// ensureObjects creates the accounts of the tasks and their rights, which belong to the Provisioning, and
// the request, which belongs to the Backup.
func (r *Reconciler) ensureObjects(ctx context.Context, b *v1alpha1.Backup, p *v1alpha1.Provisioning, request contract.Request) error {
	for _, task := range contract.BackupOperation.Tasks() {
		if err := r.ensureAccount(ctx, p, task); err != nil {
			return err
		}
	}
	text, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("encode the request: %w", err)
	}
	cm := &corev1.ConfigMap{ObjectMeta: meta(b, requestName(b), map[string]string{contract.LabelBackup: b.Name}), Data: map[string]string{
		contract.KeyRequest: string(text), contract.KeyVersion: strconv.Itoa(contract.Version),
	}}
	_, err = owned.Ensure(ctx, b, r.kube.CoreV1().ConfigMaps(b.Namespace), cm, func(have, want *corev1.ConfigMap) { have.Data = want.Data })
	return err
}

// ensureAccount creates the account of a task, and its rights. They belong to the Provisioning.
func (r *Reconciler) ensureAccount(ctx context.Context, p *v1alpha1.Provisioning, task contract.Task) error {
	account := contract.ServiceAccountName(p.Name, task.Name)
	ofCluster := meta(p, account, nil)
	core, rbac := r.kube.CoreV1(), r.kube.RbacV1()
	if _, err := owned.Ensure(ctx, p, core.ServiceAccounts(p.Namespace), &corev1.ServiceAccount{ObjectMeta: ofCluster, AutomountServiceAccountToken: ptr.To(false)},
		func(_, _ *corev1.ServiceAccount) {}); err != nil {
		return err
	}
	role := &rbacv1.Role{ObjectMeta: ofCluster, Rules: runs.Rules(p.Name, "", task)}
	if _, err := owned.Ensure(ctx, p, rbac.Roles(p.Namespace), role, func(have, want *rbacv1.Role) {
		if !grants(have.Rules, want.Rules) { // a run of the cluster may need more for the same account
			have.Rules = want.Rules
		}
	}); err != nil {
		return err
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: ofCluster,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: account},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: p.Namespace, Name: account}},
	}
	_, err := owned.Ensure(ctx, p, rbac.RoleBindings(p.Namespace), binding, func(have, want *rbacv1.RoleBinding) { have.Subjects = want.Subjects })
	return err
}

// grants reports whether the rules that there are have all that are wanted.
func grants(have, want []rbacv1.PolicyRule) bool {
	return !slices.ContainsFunc(want, func(w rbacv1.PolicyRule) bool {
		return !slices.ContainsFunc(have, func(h rbacv1.PolicyRule) bool { return equality.Semantic.DeepEqual(h, w) })
	})
}

// meta returns the metadata of an object of owner. The owner reference does not block the deletion of
// the owner.
func meta(owner kmeta.OwnerRefable, name string, labels map[string]string) metav1.ObjectMeta {
	reference := *kmeta.NewControllerRef(owner)
	reference.BlockOwnerDeletion = nil
	all := map[string]string{"app.kubernetes.io/part-of": "bpa", "app.kubernetes.io/managed-by": "bpa-controller"}
	for key, value := range labels {
		all[key] = value
	}
	return metav1.ObjectMeta{Name: name, Namespace: owner.GetObjectMeta().GetNamespace(), Labels: all, OwnerReferences: []metav1.OwnerReference{reference}}
}

// makePipelineRun returns the run of a Backup.
func makePipelineRun(b *v1alpha1.Backup, p *v1alpha1.Provisioning, depot, recipient, nodesKey string, enroll bool) *tekton.PipelineRun {
	m := meta(b, runName(b), map[string]string{
		contract.LabelBackup: b.Name, contract.LabelOperation: contract.OperationBackup, runs.LabelPipeline: contract.PipelineBackup,
	})
	m.Annotations = map[string]string{annotationDepot: depot, annotationCluster: p.ClusterUID(), runs.AnnotationNodesKey: nodesKey}
	siteKey := ""
	if enroll {
		siteKey = p.Spec.SSH.Secret()
	}
	spec := runs.Run{Name: p.Name, Request: requestName(b), Operation: contract.BackupOperation, SSHSecret: contract.NodesKeyName(p.Name), SiteSSHSecret: siteKey, Timeout: timeout}.Spec(
		runs.Param(contract.ParamArtifact, artifactOf(b).Name), runs.Param(contract.ParamRecipient, recipient))
	return convert.Make(m, spec)
}

// recipient returns the public key for the backups of a cluster. If there is no key pair, it makes one.
// Nobody owns the Secret, and nothing ever changes it: without the private key, no backup can be read.
func (r *Reconciler) recipient(ctx context.Context, p *v1alpha1.Provisioning) (string, error) {
	name, secrets := contract.BackupKeyName(p.Name), r.kube.CoreV1().Secrets(p.Namespace)
	secret, err := secrets.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		identity, recipient, failed := backup.NewKey()
		if failed != nil {
			return "", failed
		}
		secret, err = secrets.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: p.Namespace, Labels: map[string]string{
				"app.kubernetes.io/part-of": "bpa", "app.kubernetes.io/managed-by": "bpa-controller",
			}},
			Data: map[string][]byte{backup.KeyIdentity: []byte(identity + "\n"), backup.KeyRecipient: []byte(recipient + "\n")},
		}, metav1.CreateOptions{})
		if err == nil {
			r.reportNewKey(ctx, p, recipient)
		}
	}
	if err != nil {
		return "", fmt.Errorf("make Secret %s: %w", name, err)
	}
	recipient, err := backup.RecipientOf(secret.Data)
	if err != nil {
		return "", &notYet{fmt.Sprintf("Secret %s: %v. Restore it, or delete it to get another key: `kubectl delete secret -n %s %s`", name, err, p.Namespace, name), time.Minute}
	}
	return recipient, nil
}

// reportNewKey records an event if earlier backups of the cluster need another private key, because a
// user may have deleted the Secret by mistake.
func (r *Reconciler) reportNewKey(ctx context.Context, p *v1alpha1.Provisioning, recipient string) {
	recorder := controller.GetEventRecorder(ctx)
	all, err := r.backups.Backups(p.Namespace).List(labels.Everything())
	if recorder == nil || err != nil {
		return
	}
	var others []string
	for _, b := range all {
		if b.Spec.Provisioning == p.Name && b.Status.IsSucceeded() && b.Status.Recipient != "" && b.Status.Recipient != recipient {
			others = append(others, b.Name)
		}
	}
	if len(others) == 0 {
		return
	}
	recorder.Event(p, corev1.EventTypeWarning, "BackupKeyReplaced", fmt.Sprintf("Secret %s was missing, so a new key pair was made. Earlier backups (%d, such as %s) need an earlier private key: "+
		"keep it as long as they exist, because nothing else opens them. `kubectl get bpabackup -n %s -o custom-columns=NAME:.metadata.name,KEY:.status.recipient` shows which key each one needs",
		contract.BackupKeyName(p.Name), len(others), slices.Min(others), p.Namespace))
}
