package upgrade

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Narrow are kubespray variables that need no drain: tasks of cluster.yml with some tags apply them to a
// running cluster, and change nothing else.
type Narrow struct {
	Names []string
	Tags  []string
	On    string // the nodes on which the tasks run, such as contract.OnFirstControlPlane
	// Namespace is that of the Deployments and DaemonSets that the tasks change; empty: they change none.
	// NamespaceIn is the variable that selects another one; empty: there is none.
	Namespace, NamespaceIn string
	// Switch is the one of Names that switches the addon on; empty: it is always on.
	Switch string
	// DaemonSet reports that the tasks change a DaemonSet.
	DaemonSet bool
	Reason    string // why no drain is needed, and what kubespray does not do
}

// NarrowVariables are the variables that need no drain in contract.DefaultRelease. All others but
// FixedVariables are applied by the upgrade of the nodes. docs/upgrade.md has the same table.
//
// A variable is here only if no role of kubespray reads it but that of the tag, and if that role works
// without the other ones. These have been left out on purpose: cert_manager_* (its tag also deletes the
// namespace of cert-manager), metallb_* (its tag needs variables of the role control-plane), and the
// variables of the kubelet, of containerd, of the kernel and of NTP (their tags restart the service on all
// nodes at once, or change much more than the variable).
var NarrowVariables = []Narrow{
	{Names: []string{"coredns_additional_configs", "coredns_additional_error_config", "coredns_affinity", "coredns_default_zone_cache_block",
		"coredns_deployment_nodeselector", "coredns_external_zones", "coredns_k8s_external_zone", "coredns_kubernetes_extra_domains", "coredns_kubernetes_extra_opts",
		"coredns_replicas", "coredns_rewrite_block", "dns_autoscaler_affinity", "dns_autoscaler_cpu_requests", "dns_autoscaler_deployment_nodeselector",
		"dns_autoscaler_extra_tolerations", "dns_autoscaler_memory_requests", "dns_cores_per_replica", "dns_cpu_limit", "dns_cpu_requests",
		"dns_extra_tolerations", "dns_memory_limit", "dns_memory_requests", "dns_min_replicas", "dns_nodes_per_replica", "dns_prevent_single_point_failure",
		"enable_coredns_k8s_endpoint_pod_names", "enable_coredns_k8s_external", "enable_coredns_reverse_dns_lookups"},
		Tags: []string{"coredns"}, On: contract.OnFirstControlPlane, Namespace: "kube-system",
		Reason: "CoreDNS replaces its pods one at a time"},
	{Names: []string{"dns_etchosts", "dns_upstream_forward_extra_opts"},
		Tags: []string{"coredns"}, On: contract.OnFirstControlPlane, Namespace: "kube-system", DaemonSet: true,
		Reason: "CoreDNS replaces its pods one at a time. The DNS cache of the nodes has the same variables: it restarts as for the next row"},
	{Names: []string{"nodelocaldns_additional_configs", "nodelocaldns_cpu_requests", "nodelocaldns_ds_nodeselector", "nodelocaldns_external_zones",
		"nodelocaldns_memory_limit", "nodelocaldns_memory_requests"},
		Tags: []string{"nodelocaldns"}, On: contract.OnFirstControlPlane, Namespace: "kube-system", DaemonSet: true,
		Reason: "the DNS cache restarts on a part of the nodes at a time; names are not resolved there for some seconds, as in an upgrade"},
	{Names: []string{"metrics_server_container_port", "metrics_server_enabled", "metrics_server_extra_affinity", "metrics_server_extra_tolerations",
		"metrics_server_host_network", "metrics_server_kubelet_insecure_tls", "metrics_server_kubelet_preferred_address_types", "metrics_server_limits_cpu",
		"metrics_server_limits_memory", "metrics_server_metric_resolution", "metrics_server_nodeselector", "metrics_server_replicas", "metrics_server_requests_cpu",
		"metrics_server_requests_memory"},
		Tags: []string{"metrics_server"}, On: contract.OnFirstControlPlane, Namespace: "kube-system", Switch: "metrics_server_enabled",
		Reason: "only the pods of metrics-server are replaced"},
	{Names: []string{"local_path_provisioner_debug", "local_path_provisioner_enabled", "local_path_provisioner_is_default_storageclass"},
		Tags: []string{"local-path-provisioner"}, On: contract.OnControlPlanes, Namespace: "local-path-storage", NamespaceIn: "local_path_provisioner_namespace",
		Switch: "local_path_provisioner_enabled",
		Reason: "only the provisioner is replaced, and volumes stay. Its helper image (`local_path_provisioner_helper_image_repo`, by default busybox) is not in the list of artifacts: put it into the depot yourself"},
	{Names: []string{"node_feature_discovery_enabled", "node_feature_discovery_gc_interval", "node_feature_discovery_gc_replicas", "node_feature_discovery_master_config",
		"node_feature_discovery_master_replicas", "node_feature_discovery_worker_config", "node_feature_discovery_worker_tolerations"},
		Tags: []string{"node_feature_discovery"}, On: contract.OnFirstControlPlane, Namespace: "node-feature-discovery", NamespaceIn: "node_feature_discovery_namespace",
		Switch: "node_feature_discovery_enabled", DaemonSet: true,
		Reason: "only its own pods are replaced. Its image is not in the list of artifacts: put it into the depot yourself"},
	{Names: []string{"node_labels"},
		Tags: []string{"node-label"}, On: contract.OnAllNodes,
		Reason: "labels of Node objects are set, and no pod is touched. A label that is not in the variable any more stays: remove it with kubectl"},
}

// namespaceName matches a name that the cluster and a shell accept as it is.
var namespaceName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// NarrowOf returns how to apply changed variables without a drain; false: a drain is needed. changed are the
// names of the variables that differ from those of the cluster, was and is are its variables before and
// after the change.
func NarrowOf(release string, changed []string, was, is map[string]json.RawMessage) (contract.Narrow, bool) {
	n := contract.Narrow{Variables: slices.Sorted(slices.Values(changed)), On: contract.OnFirstControlPlane}
	if len(changed) == 0 || !SameRelease(release, contract.DefaultRelease) {
		return n, false
	}
	for _, name := range n.Variables {
		row := narrowRow(name)
		if row == nil || usedBy(name, changed, was) || usedBy(name, changed, is) {
			return n, false
		}
		namespace, known := row.namespace(is)
		on, isBool := row.on(is)
		if !known || !isBool {
			return n, false
		}
		n.Tags = append(n.Tags, row.Tags...)
		n.On = slices.MaxFunc([]string{n.On, row.On}, func(a, b string) int { return cmp.Compare(reach(a), reach(b)) })
		if namespace != "" && on {
			n.Namespaces = append(n.Namespaces, namespace)
		}
		if name == row.Switch && !on {
			n.Kept = append(n.Kept, name)
		}
	}
	n.Tags, n.Namespaces = unique(n.Tags), unique(n.Namespaces)
	return n, true
}

// ChangeDaemonSets returns those of the narrow variables that change a DaemonSet. vars are all variables of
// the cluster after the change: an addon that is off has none.
func ChangeDaemonSets(names []string, vars map[string]json.RawMessage) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		row := narrowRow(name)
		if row == nil || !row.DaemonSet {
			return true
		}
		on, known := row.on(vars)
		return known && !on
	})
}

func unique(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }

// NeedsNoDrain reports whether a variable is one of NarrowVariables.
func NeedsNoDrain(name string) bool { return narrowRow(name) != nil }

func narrowRow(name string) *Narrow {
	i := slices.IndexFunc(NarrowVariables, func(n Narrow) bool { return slices.Contains(n.Names, name) })
	if i < 0 {
		return nil
	}
	return &NarrowVariables[i]
}

// usedBy reports whether the value of a variable that does not change contains the name: it may be a
// template with the changed variable, and then more than the changed variable has to be applied.
func usedBy(name string, changed []string, vars map[string]json.RawMessage) bool {
	for other, value := range vars {
		if !slices.Contains(changed, other) && bytes.Contains(value, []byte(name)) {
			return true
		}
	}
	return false
}

// namespace returns the namespace of the row; false: it is not known, because a template selects it.
func (n Narrow) namespace(vars map[string]json.RawMessage) (string, bool) {
	value, set := vars[n.NamespaceIn]
	if n.NamespaceIn == "" || !set {
		return n.Namespace, true
	}
	var name string
	err := json.Unmarshal(value, &name)
	return name, err == nil && namespaceName.MatchString(name)
}

// on reports whether the addon of the row is on. known is false if a template decides it.
func (n Narrow) on(vars map[string]json.RawMessage) (on, known bool) {
	value, set := vars[n.Switch]
	if n.Switch == "" || !set {
		return n.Switch == "", true
	}
	err := json.Unmarshal(value, &on)
	return on, err == nil
}

// reach orders the values of contract.Narrow.On by the number of nodes.
func reach(on string) int {
	return slices.Index([]string{contract.OnFirstControlPlane, contract.OnControlPlanes, contract.OnAllNodes}, on)
}
