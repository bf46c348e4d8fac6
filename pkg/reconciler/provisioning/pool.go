package provisioning

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"knative.dev/pkg/reconciler"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/imaging"
	"github.com/akraino-icn/bpa/pkg/reconciler/owned"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
)

// This file is about hosts in another namespace than that of their Provisioning (spec.hostNamespace).

var _ reconciler.OnDeletionInterface = (*Reconciler)(nil)

// ensureInPool is like ensure for an object in the namespace of the hosts, which p cannot own.
func ensureInPool[T owned.Kind](ctx context.Context, client owned.Client[T], want T, put func(have, want T)) error {
	what := fmt.Sprintf("%T %s in namespace %s", want, want.GetName(), want.GetNamespace())[1:]
	have, err := client.Get(ctx, want.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		if _, err = client.Create(ctx, want, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create %s: %w", what, err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("get %s: %w", what, err)
	}
	for label, value := range want.GetLabels() {
		if have.GetLabels()[label] != value {
			return &notYet{what + " exists and is not of this Provisioning: ask an administrator to delete it", leaving}
		}
	}
	next := have.DeepCopyObject().(T)
	if put(next, want); equality.Semantic.DeepEqual(have, next) {
		return nil
	}
	if _, err = client.Update(ctx, next, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("update %s: %w", what, err)
	}
	return nil
}

// grantPool gives select-hosts access to the hosts of another namespace, and to the named Secrets with their
// network data, if a policy grants the hosts.
func (r *Reconciler) grantPool(ctx context.Context, p *v1alpha1.Provisioning, tenancy hosts.Tenancy, secrets []string) error {
	if tenancy.Refused != "" {
		return &notYet{tenancy.Refused, leaving}
	}
	rbac, role := r.kube.RbacV1(), resources.MakePoolRole(p, secrets)
	if role != nil {
		if err := ensureInPool(ctx, rbac.Roles(role.Namespace), role, copyRules); err != nil {
			return err
		}
	}
	for _, binding := range resources.MakePoolBindings(p, role) {
		if err := ensureInPool(ctx, rbac.RoleBindings(binding.Namespace), binding, copySubjects); err != nil {
			return err
		}
	}
	return nil
}

// revokePool removes the access of a Provisioning to the hosts of other namespaces. It finds its objects by their labels,
// because the Provisioning may not exist any more.
func (r *Reconciler) revokePool(ctx context.Context, namespace, name string) error {
	bindings, err := r.bindings.List(resources.PoolSelector(namespace, name))
	if err != nil {
		return fmt.Errorf("list RoleBindings: %w", err)
	}
	rbac, failed := r.kube.RbacV1(), []error(nil)
	for _, b := range bindings {
		options := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(b.UID))}
		if err := rbac.RoleBindings(b.Namespace).Delete(ctx, b.Name, options); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			failed = append(failed, fmt.Errorf("delete RoleBinding %s in namespace %s: %w", b.Name, b.Namespace, err))
			continue
		}
		if b.RoleRef.Kind != "Role" {
			continue
		}
		if err := rbac.Roles(b.Namespace).Delete(ctx, b.RoleRef.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			failed = append(failed, fmt.Errorf("delete Role %s in namespace %s: %w", b.RoleRef.Name, b.Namespace, err))
		}
	}
	return errors.Join(failed...)
}

// ObserveDeletion removes the access of a Provisioning that does not exist any more, because Kubernetes' garbage
// collector deletes no object whose owner is in another namespace. Otherwise, an editor of that namespace could create an
// account of this name and use the access.
func (r *Reconciler) ObserveDeletion(ctx context.Context, of types.NamespacedName) error {
	return r.revokePool(ctx, of.Namespace, of.Name)
}

// enqueueTenant returns a handler that enqueues the Provisioning of an object in the namespace of its hosts, or in
// its own namespace.
func enqueueTenant(enqueue func(key)) func(any) {
	return func(o any) {
		m, err := meta.Accessor(o)
		if err != nil {
			return
		}
		k := key{Namespace: m.GetNamespace(), Name: m.GetLabels()[contract.LabelCluster]}
		if tenant := m.GetLabels()[contract.LabelNamespace]; tenant != "" {
			k.Namespace = tenant
		}
		if k.Name != "" {
			enqueue(k)
		}
	}
}

// overLimit returns why the Provisionings of the namespace may not hold the hosts that are chosen for a request; empty: they
// may. It counts like the task select-hosts.
func overLimit(request contract.Request, t hosts.Tenancy, seen plan.Seen, chosen []string) string {
	takes := slices.ContainsFunc(chosen, func(name string) bool { return !seen.Site[name].Ours })
	if !takes {
		return ""
	}
	held, stay, installed := 0, 0, append(installedFor(request, seen), request.Unreset...)
	for name, h := range seen.Site {
		if !h.Ours || h.Lost {
			continue
		}
		held++
		if !slices.Contains(chosen, name) && slices.Contains(installed, name) {
			stay++
		}
	}
	if err := hosts.Within(t.MaxHosts, request.Namespace, t.Here+t.Elsewhere-held, len(chosen)+stay); err != nil {
		return err.Error()
	}
	return ""
}

// copySecrets copies the Secrets of an OS image beside the hosts that are to get it, if these are in another namespace.
// Metal3 ignores Secrets of other namespaces. The result names the copies.
func (r *Reconciler) copySecrets(ctx context.Context, p *v1alpha1.Provisioning, image contract.OSImage, due map[string]string, held []hosts.Host) (contract.OSImage, error) {
	if p.HostNamespace() == p.Namespace {
		return image, nil
	}
	for _, f := range []struct {
		name *string
		copy string
	}{{&image.UserData, resources.CopyUserData}, {&image.NetworkData, resources.CopyNetworkData}, {&image.MetaData, resources.CopyMetaData}} {
		if *f.name == "" {
			continue
		}
		for _, host := range slices.Sorted(maps.Keys(due)) {
			i := slices.IndexFunc(held, func(h hosts.Host) bool { return h.Name == host })
			name := imaging.Expand(*f.name, host, due[host])
			of, err := r.kube.CoreV1().Secrets(p.Namespace).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return image, fmt.Errorf("copy Secret %s beside host %s: %w", name, host, err)
			}
			want := resources.MakeCopy(p, imaging.Expand(f.copy, host, due[host]), host, held[i].UID, of)
			if err := r.ensureCopy(ctx, want); err != nil {
				return image, err
			}
		}
		*f.name = f.copy
	}
	return image, nil
}

// ensureCopy writes a copy. It overwrites that of the host's last Provisioning, and no Secret of somebody else.
func (r *Reconciler) ensureCopy(ctx context.Context, want *corev1.Secret) error {
	secrets := r.kube.CoreV1().Secrets(want.Namespace)
	have, err := secrets.Get(ctx, want.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		_, err = secrets.Create(ctx, want, metav1.CreateOptions{})
	case err == nil && !isCopy(have):
		return fmt.Errorf("secret %s in namespace %s exists and is not of BPA: ask an administrator to delete it", want.Name, want.Namespace)
	case err == nil:
		have = have.DeepCopy()
		if have.Data, have.OwnerReferences = want.Data, want.OwnerReferences; have.Labels[contract.LabelNamespace] != want.Labels[contract.LabelNamespace] {
			maps.Copy(have.Labels, want.Labels)
		}
		_, err = secrets.Update(ctx, have, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("write Secret %s in namespace %s: %w", want.Name, want.Namespace, err)
	}
	return nil
}

func isCopy(s *corev1.Secret) bool {
	return s.Labels["app.kubernetes.io/managed-by"] == "bpa-controller" && s.Labels[contract.LabelNamespace] != ""
}

// emptyCopies removes the content of the copies beside hosts that were released. The controller has no right to
// delete Secrets; Kubernetes deletes the copies with their host.
func (r *Reconciler) emptyCopies(ctx context.Context, p *v1alpha1.Provisioning, released []string) error {
	if p.HostNamespace() == p.Namespace {
		return nil
	}
	secrets, failed := r.kube.CoreV1().Secrets(p.HostNamespace()), []error(nil)
	for _, host := range released {
		for _, template := range []string{resources.CopyUserData, resources.CopyNetworkData, resources.CopyMetaData} {
			have, err := secrets.Get(ctx, imaging.Expand(template, host, ""), metav1.GetOptions{})
			if err == nil && isCopy(have) && have.Labels[contract.LabelNamespace] == p.Namespace && len(have.Data) > 0 {
				have = have.DeepCopy()
				have.Data = nil
				_, err = secrets.Update(ctx, have, metav1.UpdateOptions{})
			}
			if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) { // a conflict: the next holder has written it
				failed = append(failed, fmt.Errorf("empty the copy of a Secret beside host %s: %w", host, err))
			}
		}
	}
	return errors.Join(failed...)
}
