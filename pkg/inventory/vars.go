package inventory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/akraino-icn/bpa/pkg/tasks/contract"
)

// groupVars are kubespray's variables for all hosts. The person's own win.
func groupVars(c checked) ([]byte, error) {
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
	for name, value := range c.request.Vars {
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

// registries are those that kubespray's images come from. Nodes ask the depot in their stead, so images keep their names.
var registries = []string{"registry.k8s.io", "docker.io", "quay.io", "ghcr.io"}

// depotVars send every download to the depot, which keeps files under the upstream's host and path. With a CA of its own containerd is told
// where the node has it; whatever else downloads asks the system's store, which the kubespray task puts it into.
func depotVars(depot string, ownCA bool) map[string]any {
	files, ca := depot+"/files/", ""
	if ownCA {
		ca = contract.DepotCAPath
	}
	var mirrors []mirror
	for _, registry := range registries {
		mirrors = append(mirrors, mirror{
			Prefix: registry,
			Server: depot,
			Mirrors: []mirrorHost{{
				Host:         depot,
				Capabilities: []string{"pull", "resolve"},
				SkipVerify:   strings.HasPrefix(depot, "http://"),
				CA:           ca,
			}},
		})
	}
	return map[string]any{
		"dl_k8s_io_url":                 files + "dl.k8s.io",
		"github_url":                    files + "github.com",
		"get_helm_url":                  files + "get.helm.sh",
		"storage_googleapis_url":        files + "storage.googleapis.com",
		"containerd_registries_mirrors": mirrors,
	}
}

// mirror is an entry of kubespray's containerd_registries_mirrors, which becomes a hosts.toml of containerd.
type mirror struct {
	Prefix  string       `json:"prefix"`
	Server  string       `json:"server"`
	Mirrors []mirrorHost `json:"mirrors"`
}

type mirrorHost struct {
	Host         string   `json:"host"`
	Capabilities []string `json:"capabilities"`
	SkipVerify   bool     `json:"skip_verify"`
	CA           string   `json:"ca,omitempty"` // path on the node
}
