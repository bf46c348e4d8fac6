package resources

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/utils/ptr"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// ClusterRoleSelectHosts is what select-hosts may do with the hosts of a namespace; config/ installs it.
const ClusterRoleSelectHosts = "bpa-select-hosts"

// Tasks are the pipeline's tasks in their order; each runs as an account of its own.
var Tasks = []string{
	contract.TaskSeedRegistry, contract.TaskSelectHosts, contract.TaskRenderInventory, contract.TaskKubespray, contract.TaskCollectKubeconfig,
}

// asksAPI reports whether a task talks to the API server. The others have an account as well, since seed-registry has a token for the depot
// made for it, but no token that the API server takes, and no rights.
func asksAPI(task string) bool { return task != contract.TaskSeedRegistry }

// MakeServiceAccounts are the accounts of the tasks. Their tokens are mounted only where the run asks for it.
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

// MakeRoles say, by name, which ConfigMaps each task reads and writes, and which Secrets select-hosts reads: those that its hosts may be given,
// or that tell of their addresses.
func MakeRoles(p *v1alpha1.Provisioning, secrets []string) []*rbacv1.Role {
	inventory, knownHosts, progress := contract.InventoryName(p.Name), contract.KnownHostsName(p.Name), contract.ProgressName(p.Name)
	selectHosts := makeRole(p, contract.TaskSelectHosts, []string{"get", "update"}, inventory)
	if len(secrets) > 0 { // without names the rule would be for every Secret
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

// MakeRoleBindings give each task its Role, and select-hosts the hosts of the namespace.
func MakeRoleBindings(p *v1alpha1.Provisioning) []*rbacv1.RoleBinding {
	var all []*rbacv1.RoleBinding
	for _, task := range Tasks {
		if name := contract.ServiceAccountName(p.Name, task); asksAPI(task) {
			all = append(all, makeBinding(p, name, task, "Role", name))
		}
	}
	return append(all, makeBinding(p, HostsBindingName(p.Name), contract.TaskSelectHosts, "ClusterRole", ClusterRoleSelectHosts))
}

// HostsBindingName is the RoleBinding that gives select-hosts the hosts of the namespace. It is there only while a run may need it.
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
