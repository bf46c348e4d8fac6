package resources

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/utils/ptr"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// ClusterRoleSelectHosts is the role of select-hosts for the hosts of a namespace. config/ installs
// it.
const ClusterRoleSelectHosts = "bpa-select-hosts"

// Tasks are the pipeline's tasks in order. Each task runs with its own account.
var Tasks = []string{
	contract.TaskSeedRegistry, contract.TaskSelectHosts, contract.TaskRenderInventory, contract.TaskKubespray, contract.TaskCollectKubeconfig,
}

// asksAPI reports whether a task uses the API server. The other tasks also have an account, because
// seed-registry needs a token for the depot, but they have no token for the API server and no
// permissions.
func asksAPI(task string) bool { return task != contract.TaskSeedRegistry }

// MakeServiceAccounts returns the accounts of the tasks. Their tokens are mounted only where the
// run requests it.
func MakeServiceAccounts(p *v1alpha1.Provisioning) []*corev1.ServiceAccount {
	var all []*corev1.ServiceAccount
	for _, task := range Tasks {
		all = append(all, &corev1.ServiceAccount{
			ObjectMeta:                   meta(p, contract.ServiceAccountName(p.Name, task)),
			AutomountServiceAccountToken: ptr.To(false),
		})
	}
	return all
}

// MakeRoles lists, by name, the ConfigMaps that each task reads and writes, and the Secrets that
// select-hosts reads: Secrets that its hosts may receive, and Secrets with their addresses.
func MakeRoles(p *v1alpha1.Provisioning, secrets []string) []*rbacv1.Role {
	inventory, knownHosts, progress := contract.InventoryName(p.Name), contract.KnownHostsName(p.Name), contract.ProgressName(p.Name)
	selectHosts := makeRole(p, contract.TaskSelectHosts, []string{"get", "update"}, inventory)
	if len(secrets) > 0 { // without names, the rule would apply to every Secret
		selectHosts.Rules = append(selectHosts.Rules, rbacv1.PolicyRule{
			APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: secrets, Verbs: []string{"get"},
		})
	}
	return []*rbacv1.Role{
		selectHosts,
		makeRole(p, contract.TaskRenderInventory, []string{"get", "update"}, inventory),
		makeRole(p, contract.TaskKubespray, []string{"get", "update"}, knownHosts, progress),
		makeRole(p, contract.TaskCollectKubeconfig, []string{"get"}, knownHosts),
	}
}

func makeRole(p *v1alpha1.Provisioning, task string, verbs []string, configMaps ...string) *rbacv1.Role {
	return &rbacv1.Role{
		ObjectMeta: meta(p, contract.ServiceAccountName(p.Name, task)),
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: configMaps, Verbs: verbs,
		}},
	}
}

// MakeRoleBindings bind each task to its Role, and select-hosts to the hosts of the namespace.
func MakeRoleBindings(p *v1alpha1.Provisioning) []*rbacv1.RoleBinding {
	var all []*rbacv1.RoleBinding
	for _, task := range Tasks {
		if name := contract.ServiceAccountName(p.Name, task); asksAPI(task) {
			all = append(all, makeBinding(p, name, task, "Role", name))
		}
	}
	return append(all, makeBinding(p, HostsBindingName(p.Name), contract.TaskSelectHosts, "ClusterRole", ClusterRoleSelectHosts))
}

// HostsBindingName is the name of the RoleBinding that grants select-hosts access to the hosts of
// the namespace. The binding exists only while a run may need it.
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
