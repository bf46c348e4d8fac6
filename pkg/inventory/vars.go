package inventory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// groupVars are kubespray's variables for all hosts. The person's own win; of registries' mirrors, those that they name.
func groupVars(c checked, pins Pins) ([]byte, error) {
	vars := map[string]any{
		"kube_version":           c.request.KubernetesVersion,
		"kube_network_plugin":    c.request.NetworkPlugin,
		"kube_pods_subnet":       c.pods.String(),
		"kube_service_addresses": c.services.String(),
		// The kubeconfig is made by the task collect-kubeconfig; a copy of the admin's would lie around in the task's pod.
		"kubeconfig_localhost": false,
	}
	if c.request.DepotURL != "" {
		maps.Copy(vars, depotVars(strings.TrimRight(c.request.DepotURL, "/"), c.request.DepotCA != ""))
	}
	maps.Copy(vars, pins.vars(c.request.KubernetesVersion))
	for name, value := range c.request.Vars {
		if ours, ok := vars[name].([]mirror); ok {
			vars[name] = withTheirs(ours, value)
			continue
		}
		vars[name] = value
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

// depotVars send every download to the depot, which keeps files under the upstream's host and path. With a CA of its own containerd is told
// where the node has it; whatever else downloads asks the system's store, which the kubespray task puts it into.
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
