package resources

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// The objects of this file are in the namespace of the hosts, which is another one than that of their
// Provisioning. Kubernetes has no owner references between namespaces, so the controller deletes these
// objects, and finds them by their labels.

// poolLabels are the labels of all objects of a Provisioning in the namespace of its hosts.
func poolLabels(p *v1alpha1.Provisioning) map[string]string {
	all := Labels(p)
	all[contract.LabelNamespace] = p.Namespace
	return all
}

// PoolSelector selects the objects of a Provisioning in the namespace of its hosts.
func PoolSelector(namespace, name string) labels.Selector {
	return labels.SelectorFromSet(labels.Set{contract.LabelNamespace: namespace, contract.LabelCluster: name})
}

// poolMeta returns the metadata of such an object. Names of Provisionings have no dots, so the name is unique.
func poolMeta(p *v1alpha1.Provisioning, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: p.HostNamespace(), Name: p.Namespace + "." + name, Labels: poolLabels(p)}
}

// MakePoolRole returns the Role with which select-hosts reads the network data of hosts; nil: no host needs it.
func MakePoolRole(p *v1alpha1.Provisioning, secrets []string) *rbacv1.Role {
	if len(secrets) == 0 { // without names, the rule would apply to every Secret, such as those of BMCs
		return nil
	}
	return &rbacv1.Role{ObjectMeta: poolMeta(p, contract.ServiceAccountName(p.Name, contract.TaskSelectHosts)), Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: secrets, Verbs: []string{"get"},
	}}}
}

// MakePoolBindings returns the bindings of select-hosts to the role for hosts, and to the Role for network data
// if there is one.
func MakePoolBindings(p *v1alpha1.Provisioning, role *rbacv1.Role) []*rbacv1.RoleBinding {
	account := contract.ServiceAccountName(p.Name, contract.TaskSelectHosts)
	bind := func(meta metav1.ObjectMeta, kind, name string) *rbacv1.RoleBinding {
		return &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: p.Namespace, Name: account}}}
	}
	all := []*rbacv1.RoleBinding{bind(poolMeta(p, HostsBindingName(p.Name)), "ClusterRole", ClusterRoleSelectHosts)}
	if role != nil {
		all = append(all, bind(poolMeta(p, account), "Role", role.Name))
	}
	return all
}

// The copies of Secrets that a host gets with its operating system: Metal3 reads them only beside the host.
// Each host has its own, which it keeps for its next cluster.
const (
	CopyUserData    = "$(host)-bpa-user-data"
	CopyNetworkData = "$(host)-bpa-network-data"
	CopyMetaData    = "$(host)-bpa-meta-data"
)

// MakeCopy returns a copy of a Secret of the Provisioning beside a host. The host owns it. The copy lacks the label
// contract.LabelCluster, so that no cache of the controller has its content.
func MakeCopy(p *v1alpha1.Provisioning, name, host, uid string, of *corev1.Secret) *corev1.Secret {
	all := poolLabels(p)
	delete(all, contract.LabelCluster)
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.HostNamespace(), Name: name, Labels: all, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "metal3.io/v1alpha1", Kind: "BareMetalHost", Name: host, UID: types.UID(uid), BlockOwnerDeletion: ptr.To(false),
		}}},
		Type: corev1.SecretTypeOpaque, Data: maps.Clone(of.Data),
	}
}
