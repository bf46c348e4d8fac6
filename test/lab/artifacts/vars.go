package artifacts

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// VarsFile is where Make leaves the kubespray variables of this site: those of test/lab/vars.yaml, and the depot's
// addresses, versions and checksums.
func (s *Site) VarsFile() string { return s.cache("vars.yaml") }

func (s *Site) writeVars(ctx context.Context, files []file) error {
	vars := map[string]any{}
	static, err := os.ReadFile(s.source("test", "lab", "vars.yaml"))
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(static, &vars); err != nil {
		return fmt.Errorf("test/lab/vars.yaml: %w", err)
	}
	runc, err := runcVersion(ctx)
	if err != nil {
		return err
	}
	vars["runc_version"] = runc
	vars["etcd_version"], vars["crictl_version"], vars["nerdctl_version"] = etcdVersion, crictlVersion, nerdctlVersion
	vars["dl_k8s_io_url"] = "http://" + s.Registry + "/files/dl.k8s.io"
	vars["github_url"] = "http://" + s.Registry + "/files/github.com"
	vars["containerd_registries_mirrors"] = mirrors("http://" + s.Registry)
	for _, f := range files {
		vars[f.variable] = "sha256:" + s.stamps().Value("sha256 "+f.variable)
	}
	out, err := yaml.Marshal(vars)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.VarsFile()), 0o755); err != nil {
		return err
	}
	return os.WriteFile(s.VarsFile(), out, 0o644)
}

// mirrors sends the registries of upstream image names to the depot.
func mirrors(depot string) []any {
	var out []any
	for _, registry := range []string{"_default", "docker.io", "ghcr.io", "quay.io", "registry.k8s.io"} {
		out = append(out, map[string]any{
			"prefix":  registry,
			"server":  depot,
			"mirrors": []any{map[string]any{"host": depot, "capabilities": []string{"pull", "resolve"}, "skip_verify": true}},
		})
	}
	return out
}
