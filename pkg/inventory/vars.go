package inventory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Variables of kubespray.
const (
	autoRenewVar  = "auto_renew_certificates"
	externalCAVar = "kube_external_ca_mode"
)

// groupVars returns kubespray's variables for all hosts, as JSON with sorted keys. If the user
// provides a variable that BPA also sets, the user's value is used. Registry mirrors are an
// exception: they are merged by prefix. Variables of plugins override those of BPA, and the user's
// variables override both. Of a variable in a Secret, only the digest is in the inventory.
func groupVars(c checked, pins Pins) ([]byte, error) {
	vars := map[string]any{
		"kube_version":           c.request.KubernetesVersion,
		"kube_network_plugin":    c.request.NetworkPlugin,
		"kube_pods_subnet":       c.pods.v4.String(),
		"kube_service_addresses": c.services.v4.String(),
		// The task collect-kubeconfig makes the kubeconfig. A copy of the admin's kubeconfig must
		// not stay in the task's pod.
		"kubeconfig_localhost": false,
		// A timer on each control plane renews the cluster's own certificates. Without it they expire
		// after a year, and the API server stops.
		autoRenewVar: true,
	}
	if c.request.DepotURL != "" {
		maps.Copy(vars, depotVars(strings.TrimRight(c.request.DepotURL, "/"), c.request.DepotCA != ""))
	}
	maps.Copy(vars, stackVars(c.pods.v6, c.services.v6))
	maps.Copy(vars, apiVars(c.request.API))
	maps.Copy(vars, pins.vars(c.request.KubernetesVersion))
	for name, value := range c.request.PluginVars {
		vars[name] = value
	}
	for name, value := range c.request.Vars {
		if ours, ok := vars[name].([]mirror); ok {
			vars[name] = withTheirs(ours, value)
			continue
		}
		vars[name] = value
	}
	for name, digest := range c.request.SecretVars { // the task kubespray has the values, and nobody else
		vars[name] = contract.SecretValue(digest)
	}
	if !c.request.SetsVar(autoRenewVar) && string(bytes.TrimSpace(c.request.Vars[externalCAVar])) == "true" {
		delete(vars, autoRenewVar) // kubespray refuses to renew what an external CA has signed
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(vars); err != nil {
		return nil, fmt.Errorf("kubespray variables: %w", err)
	}
	return b.Bytes(), nil
}

// depotVars returns variables with which nodes download everything from the depot. The depot stores
// each file below a path that consists of the upstream's host and path. If the depot has its own
// CA, containerd reads the CA's certificate from a file on the node. Other programs use the
// system's trust store, to which the kubespray task adds the certificate.
func depotVars(depot string, ownCA bool) map[string]any {
	files := depot + "/files/"
	return map[string]any{
		"dl_k8s_io_url":          files + "dl.k8s.io",
		"github_url":             files + "github.com",
		"get_helm_url":           files + "get.helm.sh",
		"storage_googleapis_url": files + "storage.googleapis.com",
		mirrorsVar:               depotMirrors(depot, ownCA),
	}
}

// stackVars returns variables of a cluster with both address families; without the IPv6 ranges there are none. The nodes' parts of the range
// are not larger than kubeadm permits.
func stackVars(pods, services netip.Prefix) map[string]any {
	if !pods.IsValid() {
		return nil
	}
	return map[string]any{
		"ipv6_stack": true, "kube_pods_subnet_ipv6": pods.String(), "kube_service_addresses_ipv6": services.String(),
		"kube_network_node_prefix_ipv6": contract.NodePrefix6(pods.Bits()),
	}
}

// apiVars returns variables with which the nodes, and the certificate of the API servers, have the address of a load
// balancer. Without loadbalancer_apiserver_localhost, workers have no proxy of their own.
func apiVars(api *contract.API) map[string]any {
	vars := map[string]any{}
	if api.Balanced() {
		vars["loadbalancer_apiserver"] = map[string]any{"address": api.Address, "port": api.Port}
		vars["apiserver_loadbalancer_domain_name"] = api.Address
		vars["loadbalancer_apiserver_localhost"] = false
	}
	if api != nil && len(api.Names) > 0 {
		vars["supplementary_addresses_in_ssl_keys"] = api.Names
	}
	return vars
}
