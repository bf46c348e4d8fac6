package resources

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/utils/ptr"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/runs"
)

// ClusterRoleSelectHosts is the ClusterRole with the permissions of select-hosts for the hosts of a
// namespace. config/ installs it.
const ClusterRoleSelectHosts = "bpa-select-hosts"

// MakeServiceAccounts returns one account for each of the tasks. Tasks that do not call the API server have
// one too, because seed-registry needs a token for the depot. A token for the API server is mounted
// only if the run requests it.
func MakeServiceAccounts(p *v1alpha1.Provisioning, tasks []contract.Task) []*corev1.ServiceAccount {
	var all []*corev1.ServiceAccount
	for _, task := range tasks {
		all = append(all, &corev1.ServiceAccount{
			ObjectMeta:                   meta(p, contract.ServiceAccountName(p.Name, task.Name)),
			AutomountServiceAccountToken: ptr.To(false),
		})
	}
	return all
}

// MakeRoles returns a Role for each of the tasks that calls the API server. The Role names the ConfigMaps
// that the task reads and writes, among them that for the outcome of the run of this number. The Role of select-hosts
// also names the given Secrets: Secrets that its hosts may receive with an OS image, and Secrets with addresses of hosts.
func MakeRoles(p *v1alpha1.Provisioning, tasks []contract.Task, number int32, secrets []string) []*rbacv1.Role {
	var all []*rbacv1.Role
	for _, task := range tasks {
		if !task.CallsAPI() {
			continue
		}
		role := makeRole(p, number, task)
		if task.ClaimsHosts && len(secrets) > 0 { // without names, the rule would apply to every Secret
			role.Rules = append(role.Rules, rbacv1.PolicyRule{
				APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: secrets, Verbs: []string{"get"},
			})
		}
		all = append(all, role)
	}
	return all
}

func makeRole(p *v1alpha1.Provisioning, number int32, task contract.Task) *rbacv1.Role {
	rules := runs.Rules(p.Name, contract.OutcomeName(contract.RunRequestName(p.Name, number)), task)
	return &rbacv1.Role{ObjectMeta: meta(p, contract.ServiceAccountName(p.Name, task.Name)), Rules: rules}
}

// MakeRoleBindings returns the bindings of each of the tasks to its Role, and the binding
// that gives a task access to the hosts of the namespace.
func MakeRoleBindings(p *v1alpha1.Provisioning, tasks []contract.Task) []*rbacv1.RoleBinding {
	var all, access []*rbacv1.RoleBinding
	for _, task := range tasks {
		if name := contract.ServiceAccountName(p.Name, task.Name); task.CallsAPI() {
			all = append(all, makeBinding(p, name, task.Name, "Role", name))
		}
		if task.ClaimsHosts && p.HostNamespace() == p.Namespace { // else MakePoolBindings
			access = append(access, makeBinding(p, HostsBindingName(p.Name), task.Name, "ClusterRole", ClusterRoleSelectHosts))
		}
	}
	return append(all, access...)
}

// HostsBindingName returns the name of the RoleBinding that gives select-hosts access to the hosts
// of the namespace. The binding exists only while a run may need it.
func HostsBindingName(provisioning string) string {
	return contract.ServiceAccountName(provisioning, contract.TaskSelectHosts) + "-hosts"
}

func makeBinding(p *v1alpha1.Provisioning, name, task, kind, role string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: meta(p, name),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: role},
		Subjects: []rbacv1.Subject{{
			Kind: rbacv1.ServiceAccountKind, Namespace: p.Namespace, Name: contract.ServiceAccountName(p.Name, task),
		}},
	}
}
