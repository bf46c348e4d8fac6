package cli

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts/assign"
	"github.com/akraino-icn/bpa/pkg/inventory"
	"github.com/akraino-icn/bpa/pkg/runs"
	"github.com/akraino-icn/bpa/pkg/runs/tekton"
	"github.com/akraino-icn/bpa/pkg/ssh"
)

// annotationHosts is on a PipelineRun that the command has started. It lists the names of the hosts
// that the run resets, sorted, with blanks between them.
const annotationHosts = "bpa.akraino.org/hosts"

// resetLabels are on all objects of a reset. They do not have contract.LabelCluster, because no
// Provisioning owns them.
func resetLabels() map[string]string {
	return map[string]string{
		contract.LabelOperation:        contract.OperationReset,
		runs.LabelPipeline:             contract.PipelineReset,
		"app.kubernetes.io/part-of":    "bpa",
		"app.kubernetes.io/managed-by": "kubectl-bpa",
	}
}

// mostName is the maximum length of the part of a run's name that describes its hosts. Names of
// pods and values of labels, which contain the name of the run, have at most 63 characters.
const mostName = 30

// resetName returns the name of the n-th run that resets these hosts. The same arguments give the
// same name.
func resetName(names []string, n int) string {
	text := strings.ReplaceAll(strings.Join(names, "-"), ".", "-")
	if len(text) > mostName || len(names) > 1 {
		sum := fnv.New32a()
		_, _ = sum.Write([]byte(strings.Join(names, " "))) // cannot fail
		text = fmt.Sprintf("%s-%08x", strings.TrimRight(text[:min(len(text), mostName-9)], "-"), sum.Sum32())
	}
	return fmt.Sprintf("reset-%s-%d", text, n)
}

// makeResetRun returns a run that resets the hosts. It is pending: Tekton starts it when the objects
// that it needs exist, see resetObjects.
func (o resetOptions) makeResetRun(namespace, name string) *tekton.PipelineRun {
	operation := contract.OperationOf(contract.OperationReset)
	run := &tekton.PipelineRun{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Labels: resetLabels(), Annotations: map[string]string{annotationHosts: strings.Join(o.hosts, " ")},
		},
		Spec: runs.Run{
			Name: name, Operation: operation, Release: o.release, SSHSecret: contract.NodesKeyName(name),
			SiteSSHSecret: o.sshSecret, Timeout: v1alpha1.DefaultInstallTimeout,
		}.Spec(),
	}
	run.Spec.Status = tekton.PipelineRunSpecStatusPending
	return run
}

// resetRequest returns the request of a run. Each host is a node with all roles, because it is
// unknown which of them it had. It is also unknown which Kubernetes version, network plugin and
// networks the cluster had. The inventory must name some, so it names the defaults. The task removes
// what the playbook leaves of other versions and plugins. The request has no UID, because the user
// has named the hosts. They are reset even if another Provisioning has installed a cluster on them.
func (o resetOptions) resetRequest(run *tekton.PipelineRun) contract.Request {
	r := contract.Request{
		Order: contract.Order{
			Operation: contract.OperationReset,
		},
		Spec: contract.Spec{
			Provisioning: run.Name, Namespace: run.Namespace, Cluster: run.Name, Release: o.release,
			SSHUser: o.sshUser, SSHPort: o.sshPort,
			KubernetesVersion: v1alpha1.DefaultKubernetesVersion, NetworkPlugin: v1alpha1.DefaultNetworkPlugin,
			PodSubnet: v1alpha1.DefaultPodSubnet, ServiceSubnet: v1alpha1.DefaultServiceSubnet,
		},
	}
	if o.subnet != "" {
		r.Access.Subnets = []string{o.subnet}
	}
	for i, host := range o.hosts {
		r.Slots = append(r.Slots, contract.Slot{Name: nodeName(host, i), Roles: []string{contract.RoleControlPlane, contract.RoleWorker}})
	}
	return r
}

// nodeName returns the name of the i-th host as a node. It is the name of the host if this is a
// valid name of a node.
func nodeName(host string, i int) string {
	if len(host) > 63 || strings.Contains(host, ".") || slices.Contains([]string{"all", "ungrouped", "localhost", "etcd"}, host) {
		return fmt.Sprintf("reset-node-%d", i+1)
	}
	return host
}

// resetNodes returns the nodes of a request with the addresses of their hosts. The slots of the
// request are in the order of the chosen hosts. The other hosts are needed to find duplicate
// addresses.
func resetNodes(request contract.Request, targets *resetTargets) ([]contract.Node, error) {
	var assigned assign.Assignment
	for i, slot := range request.Slots {
		assigned = append(assigned, assign.Placed{Node: slot.Name, Roles: slot.Roles, Host: targets.chosen[i].Name})
	}
	return assign.Nodes(request, targets.all, assigned)
}

// resetObjects returns the objects that a run needs. The run owns them, so that Kubernetes deletes
// them together with the run.
func resetObjects(run *tekton.PipelineRun, request contract.Request, nodes []contract.Node) ([]client.Object, error) {
	if _, err := inventory.Render(request, nodes); err != nil { // the task renders it too: a user hears of an invalid field here
		return nil, err
	}
	outcome := contract.OutcomeName(contract.RequestName(run.Name))
	request.Operation, request.Nodes, request.Outcome = contract.OperationReset, nodes, outcome
	requestText, err := json.MarshalIndent(request, "", "  ")
	if err != nil {
		return nil, err
	}
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: run.Namespace, Name: name, Labels: resetLabels(), OwnerReferences: []metav1.OwnerReference{
			{APIVersion: tekton.SchemeGroupVersion.String(), Kind: "PipelineRun", Name: run.Name, UID: run.UID, Controller: ptr.To(true)},
		}}
	}
	key, err := ssh.NewKey(rand.Reader) // for this run only: the pod of the playbook never has the key of the site
	if err != nil {
		return nil, err
	}
	all := []client.Object{&corev1.Secret{
		ObjectMeta: meta(contract.NodesKeyName(run.Name)), Type: corev1.SecretTypeSSHAuth, Data: map[string][]byte{corev1.SSHAuthPrivateKey: key},
	}, &corev1.ConfigMap{
		ObjectMeta: meta(contract.RequestName(run.Name)),
		Data:       map[string]string{contract.KeyRequest: string(requestText), contract.KeyVersion: strconv.Itoa(contract.Version)},
		Immutable:  ptr.To(true),
	}, &corev1.ConfigMap{ObjectMeta: meta(outcome)}}
	for _, name := range runs.TaskConfigMaps(run.Name) {
		all = append(all, &corev1.ConfigMap{ObjectMeta: meta(name)})
	}
	for _, task := range contract.OperationOf(contract.OperationReset).Tasks() {
		account := contract.ServiceAccountName(run.Name, task.Name)
		all = append(all,
			&corev1.ServiceAccount{ObjectMeta: meta(account), AutomountServiceAccountToken: ptr.To(false)},
			&rbacv1.Role{ObjectMeta: meta(account), Rules: runs.Rules(run.Name, outcome, task)},
			&rbacv1.RoleBinding{
				ObjectMeta: meta(account),
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: account},
				Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: run.Namespace, Name: account}},
			})
	}
	return all, nil
}
