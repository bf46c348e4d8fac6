package upgrade

import (
	"fmt"
	"slices"
)

// Fixed are kubespray variables with the reason why they cannot change in a running cluster.
type Fixed struct {
	Names  []string
	Reason string
}

// FixedVariables are the variables that cannot change in a running cluster. The upgrade applies all
// others: upgrade-cluster.yml writes the configuration of a node again after its pods have left it.
// docs/upgrade.md has the same table.
var FixedVariables = []Fixed{
	{[]string{"kube_pods_subnet", "kube_pods_subnet_ipv6", "kube_pods_subnets", "kube_service_addresses", "kube_service_addresses_ipv6", "kube_service_subnets",
		"kube_network_node_prefix", "kube_network_node_prefix_ipv6", "ipv4_stack", "ipv6_stack", "enable_dual_stack_networks"},
		"pods and Services keep the addresses that they have"},
	{[]string{"kube_network_plugin"},
		"a running cluster cannot change its network plugin"},
	{[]string{"calico_datastore", "calico_pool_name", "calico_pool_cidr", "calico_pool_cidr_ipv6", "calico_pool_blocksize", "calico_pool_blocksize_ipv6",
		"calico_ipip_mode", "calico_ipip_mode_ipv6", "calico_vxlan_mode", "calico_vxlan_mode_ipv6", "calico_network_backend"},
		"kubespray refuses a pool that differs from the cluster's, and nodes with different settings do not reach each other"},
	{[]string{"flannel_backend_type", "cilium_tunnel_mode", "cilium_identity_allocation_mode", "kube_proxy_mode", "kube_proxy_remove"},
		"nodes with the old and with the new setting would not reach each other's pods or Services during the upgrade"},
	{[]string{"container_manager", "containerd_storage_dir", "crio_root", "docker_daemon_graph"},
		"the containers of a node belong to its container runtime and stay in its directory"},
	{[]string{"etcd_deployment_type", "etcd_data_dir", "etcd_config_dir", "etcd_cert_dir", "etcd_events_cluster_enabled"},
		"the members of etcd would not find their data or their certificates"},
	{[]string{"cluster_name", "dns_domain"},
		"the names of Services and the certificates contain the domain"},
	{[]string{"kube_config_dir", "kube_cert_dir", "kube_cert_compat_dir", "kube_manifest_dir", "bin_dir", "kube_owner", "kube_cert_group"},
		"kubeadm and the running components use the files where they are, and with their owner"},
	{[]string{"kube_apiserver_port", "kube_apiserver_ip", "loadbalancer_apiserver", "loadbalancer_apiserver_localhost", "loadbalancer_apiserver_port",
		"apiserver_loadbalancer_domain_name"},
		"all kubeconfigs and the certificate of the API server contain its address"},
	{[]string{"kube_encrypt_secret_data", "kube_encryption_algorithm"},
		"the API server could not read Secrets that are stored in the other form"},
}

// Variable returns why a kubespray variable cannot change in a running cluster; nil: the upgrade of the
// nodes applies the change.
func Variable(name string) *Problem {
	for _, f := range FixedVariables {
		if slices.Contains(f.Names, name) {
			return &Problem{fmt.Sprintf("the kubespray variable %s cannot change in a running cluster: %s", name, f.Reason),
				"restore the variable; to install the cluster again with the new value, delete the Provisioning and apply it again"}
		}
	}
	return nil
}
