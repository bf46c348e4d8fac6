package admission

import (
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/upgrade"
)

const (
	// mostNodeVars limits the variables of one node or of one node set, in bytes, and mostAllVars those of all nodes of
	// a cluster together: the inventory has them once for each node, in a ConfigMap of at most 1 MiB.
	mostNodeVars = 16 << 10
	mostAllVars  = 256 << 10
	// deepest is how deep the value of a node's variable may be nested.
	deepest = 50
)

// clusterVariables are variables of which a cluster has one value, beside those that package upgrade knows: kubespray
// uses them for objects and certificates of the whole cluster, or BPA reads or sets them for a whole run.
var clusterVariables = []string{
	"containerd_registries_mirrors", "containerd_registry_auth", // BPA merges its own mirrors with them
	"auto_renew_certificates", "auto_renew_certificates_systemd_calendar", "supplementary_addresses_in_ssl_keys", "certificates_key_size", "certificates_duration",
	"kube_external_ca_mode", "force_etcd_cert_refresh", "kubelet_rotate_server_certificates",
	"enable_nodelocaldns", "enable_nodelocaldns_secondary", "manual_dns_server", "skydns_server", "skydns_server_secondary", "deploy_coredns",
	"enable_network_policy", "kube_network_policy", "nat_outgoing", "nat_outgoing_ipv6", "global_as_num", "typha_enabled", "enable_nat_default_gateway",
	"helm_enabled", "registry_enabled", "argocd_enabled", "persistent_volumes_enabled", "expand_persistent_volumes", "rbac_enabled", "authorization_modes",
	"cloud_provider", "external_cloud_provider", "storage_classes", "snapshot_classes", "proxy_disable_env", "kube_profiling", "event_ttl_duration",
	"kubernetes_audit", "kubernetes_audit_webhook", "remove_anonymous_access", "apiserver_extra_volumes", "controller_manager_extra_volumes", "scheduler_extra_volumes",
	"download_run_once", "download_localhost", "serial", "ignore_assert_errors", "cert_management", "kube_token_auth", "kube_feature_gates",
	"k8s_namespace", "restrict_az_provisioning", "storage_account_type", "upgrade_cluster_setup",
}

// clusterPrefixes and clusterSuffixes are those of more such variables: the control plane and etcd, networks, add-ons,
// the run itself, and the artifacts of the release.
var (
	clusterPrefixes = []string{
		"kube_apiserver_", "kube_api_", "kube_controller_", "kube_scheduler_", "kube_kubeadm_", "kubeadm_", "kube_proxy_", "kube_oidc_", "kube_webhook_", "kube_encrypt",
		"kube_pod_security_", "kube_resource_quota_", "kube_vip_", "kube_cert_", "kube_ca_", "kube_etcd_", "kube_asymmetric_", "kube_network_plugin", "audit_", "control_plane_", "etcd_", "loadbalancer_", "apiserver_", "secrets_encryption_",
		"calico_", "cilium_", "flannel_", "kube_ovn_", "kube_router_", "macvlan_", "multus_", "custom_cni_", "cni_",
		"coredns_", "nodelocaldns_", "dns_", "metrics_server_", "cert_manager_", "metallb_", "argocd_", "gateway_api_", "ingress_", "alb_ingress_", "registry_", "helm_",
		"local_path_provisioner_", "local_volume_provisioner_", "node_feature_discovery_", "scheduler_plugins_", "kubelet_csr_approver_", "prometheus_operator_", "snapshot_controller_", "csi_",
		"aws_ebs_", "azure_csi_", "cinder_", "gcp_pd_", "upcloud_", "vsphere_", "openstack_", "external_", "nvidia_", "typha_", "kata_containers_qemu_overhead",
		"upgrade_node_", "drain_", "bpa_",
	}
	clusterSuffixes = []string{"_version", "_checksum", "_checksums", "_image_tag", "_image_repo", "_download_url"}
)

// nodeVariable returns why a variable cannot differ between nodes, and what to do; empty: it can.
func nodeVariable(name string) string {
	has := func(parts []string, in func(string, string) bool) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return in(name, part) })
	}
	switch {
	case name == "node_labels":
		return "write them as labels of the node"
	case name == "node_taints":
		return "write them as taints of the node"
	case slices.Contains(hostVariables, name):
		return "BPA sets it for each node"
	case ownVariable(name) != "":
		return ownVariable(name)
	case upgrade.Variable(name) != nil, upgrade.NeedsNoDrain(name), slices.Contains(clusterVariables, name), has(clusterPrefixes, strings.HasPrefix), has(clusterSuffixes, strings.HasSuffix):
		return "all nodes of a cluster have the same value of it: set it in spec.kubespray.vars"
	}
	return ""
}

// hostVariables are variables that BPA writes for each node, and that users may not set for one.
var hostVariables = []string{"ip", "access_ip", "ip6", "access_ip6", "etcd_member_name"}

// validateNodeVars checks the variables of a node or of a node set.
func validateNodeVars(v v1alpha1.NodeVars) (errs *apis.FieldError) {
	for _, name := range slices.Sorted(maps.Keys(v.Vars)) {
		if !variablePattern.MatchString(name) {
			errs = errs.Also(problem("vars", "use letters, digits and underscores, and begin with a letter or underscore", "%q is not a variable name", name))
		} else if why := nodeVariable(name); why != "" {
			errs = errs.Also(problem("vars."+name, why, "%s cannot be set for one node or one node set", name))
		}
		if depth(v.Vars[name].Raw) > deepest {
			errs = errs.Also(problem("vars."+name, "write a flatter value", "the value of %s is nested more than %d deep", name, deepest))
		}
	}
	if size := sizeOf(v.Vars); size > mostNodeVars {
		errs = errs.Also(problem("vars", "set large values in spec.kubespray.vars", "the variables have %d bytes, more than the limit of %d", size, mostNodeVars))
	}
	return errs
}

// validateSizeOfNodeVars limits the variables of all nodes together.
func validateSizeOfNodeVars(s *v1alpha1.ProvisioningSpec) *apis.FieldError {
	size := 0
	for _, item := range s.Masters {
		for _, m := range item {
			size += sizeOf(m.Vars)
		}
	}
	for _, item := range s.Workers {
		for _, w := range item {
			size += sizeOf(w.Vars)
		}
	}
	for _, set := range s.NodeSets {
		size += sizeOf(set.Vars) * int(max(set.Count.Active, 1))
	}
	if size <= mostAllVars {
		return nil
	}
	return problem("nodeSets", "set variables that most nodes have in spec.kubespray.vars", "the variables of all nodes together have %d bytes, more than the limit of %d", size, mostAllVars)
}

func sizeOf(vars map[string]apiextensionsv1.JSON) (size int) {
	for name, value := range vars {
		size += len(name) + len(value.Raw)
	}
	return size
}

// depth returns how deep a JSON value is nested.
func depth(value []byte) (deepest int) {
	open, quoted, escaped := 0, false, false
	for _, c := range value {
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			open++
			deepest = max(deepest, open)
		case c == ']' || c == '}':
			open--
		}
	}
	return deepest
}

// otherVar returns a variable that two entries of one node give different values; empty: there is none.
func otherVar(a, b v1alpha1.NodeVars) (name, mine, theirs string) {
	for _, name := range slices.Sorted(maps.Keys(a.Vars)) {
		if other, both := b.Vars[name]; both && string(other.Raw) != string(a.Vars[name].Raw) {
			return name, string(a.Vars[name].Raw), string(other.Raw)
		}
	}
	return "", "", ""
}
