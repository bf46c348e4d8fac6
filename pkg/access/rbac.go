package access

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/contract"
)

const (
	// HealthRole is the name of the roles of all users of kind Health.
	HealthRole = "bpa-health"
	// SoftwareRoleName is the name of the role of all users of kind Software.
	SoftwareRoleName = "bpa-software"
	// LeaseNamespace is the namespace in which kubelets renew the Leases of their nodes.
	LeaseNamespace = "kube-node-lease"

	adminRole = "cluster-admin"
	labelBy   = "app.kubernetes.io/managed-by"
	by        = "bpa-controller"
)

// Labels returns the labels of a user's bindings. A Provisioning deletes only bindings with its labels.
func Labels(provisioning string) map[string]string {
	return map[string]string{contract.LabelCluster: provisioning, labelBy: by}
}

// AdminBinding returns the binding that gives a user of kind Admin or Plugins its rights.
func AdminBinding(provisioning string, u User) *rbacv1.ClusterRoleBinding {
	return clusterBinding(provisioning, u, adminRole)
}

// HealthBindings returns the two bindings of a user of kind Health.
func HealthBindings(provisioning string, u User) (*rbacv1.ClusterRoleBinding, *rbacv1.RoleBinding) {
	all := clusterBinding(provisioning, u, HealthRole)
	return all, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: u.Binding(), Namespace: LeaseNamespace, Labels: Labels(provisioning)},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: HealthRole},
		Subjects:   all.Subjects,
	}
}

func clusterBinding(provisioning string, u User, role string) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: u.Binding(), Labels: Labels(provisioning)},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: u.String()}},
	}
}

// HealthRoles returns the rights of a health check: it asks whether the API server is ready, and lists
// the nodes and their Leases.
func HealthRoles() (*rbacv1.ClusterRole, *rbacv1.Role) {
	meta := metav1.ObjectMeta{Name: HealthRole, Labels: map[string]string{labelBy: by}}
	all := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"get"}, NonResourceURLs: []string{"/readyz"}},
		{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"nodes"}},
	}}
	leases := &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"list"}, APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}},
	}}
	leases.Namespace = LeaseNamespace
	return all, leases
}

// SoftwareBinding returns the binding of a user of kind Software.
func SoftwareBinding(provisioning string, u User) *rbacv1.ClusterRoleBinding {
	return clusterBinding(provisioning, u, SoftwareRoleName)
}

// SoftwareRole returns the rights to drain nodes: to cordon them, and to evict their pods. DaemonSets are
// read because their pods stay.
func SoftwareRole() *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: SoftwareRoleName, Labels: map[string]string{labelBy: by}}, Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"get", "list", "patch"}, APIGroups: []string{""}, Resources: []string{"nodes"}},
		{Verbs: []string{"get", "list"}, APIGroups: []string{""}, Resources: []string{"pods"}},
		{Verbs: []string{"create"}, APIGroups: []string{""}, Resources: []string{"pods/eviction"}},
		{Verbs: []string{"get"}, APIGroups: []string{"apps"}, Resources: []string{"daemonsets"}},
	}}
}
