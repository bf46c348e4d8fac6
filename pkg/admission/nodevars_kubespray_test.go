//go:build kubespray

package admission

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// perHost are variables of these roles that do have a meaning for each host.
var perHost = []string{
	"discovery_timeout", "kubelet_preferred_address_types", "kubelet_status_update_frequency", "old_dns_domains", "sysctl_file_path",
}

// Nodes can have their own variables of the roles that configure a host, and not those of the roles that make objects
// of the cluster, its control plane, its network or etcd.
func TestClusterVariablesAreKubesprays(t *testing.T) {
	line := regexp.MustCompile(`(?m)^([a-z][a-z0-9_]+):`)
	names := func(roles ...string) (all []string) {
		for _, role := range roles {
			root := filepath.Join(os.Getenv("KUBESPRAY"), "roles", role)
			if _, err := os.Stat(root); err != nil {
				t.Fatalf("%v: KUBESPRAY must name a checkout of v2.31.0", err)
			}
			_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, _ error) error {
				if entry != nil && !entry.IsDir() && strings.Contains(path, "/defaults/") {
					text, err := os.ReadFile(path)
					if err != nil {
						t.Fatal(err)
					}
					for _, m := range line.FindAllStringSubmatch(string(text), -1) {
						all = append(all, m[1])
					}
				}
				return nil
			})
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	for _, name := range names("kubernetes-apps", "network_plugin", "etcd_defaults", "kubernetes/control-plane", "kubernetes/kubeadm_common") {
		if nodeVariable(name) == "" && !slices.Contains(perHost, name) {
			t.Errorf("%s can be set for one node", name)
		}
	}
	for _, name := range names("bootstrap_os", "system_packages", "container-engine/runc") {
		if why := nodeVariable(name); why != "" {
			t.Errorf("%s cannot be set for one node: %s", name, why)
		}
	}
}
