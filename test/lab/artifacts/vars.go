package artifacts

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// VarsFile returns the path of the file with kubespray variables that Make writes. It contains the
// variables of test/lab/vars.yaml, the depot's addresses, versions and checksums.
func (b *Builder) VarsFile() string { return b.cache("vars.yaml") }

func (b *Builder) writeVars(ctx context.Context, files []file) error {
	vars := map[string]any{}
	static, err := os.ReadFile(b.source("test", "lab", "vars.yaml"))
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
	vars["nginx_image_tag"] = nginxTag
	vars["dl_k8s_io_url"] = "http://" + b.Registry + "/files/dl.k8s.io"
	vars["github_url"] = "http://" + b.Registry + "/files/github.com"
	vars["containerd_registries_mirrors"] = mirrors("http://" + b.Registry)
	for _, f := range files {
		vars[f.variable] = "sha256:" + b.stamps().Value("sha256 "+f.variable)
	}
	b.allVersions(vars)
	out, err := yaml.Marshal(vars)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(b.VarsFile()), 0o755); err != nil {
		return err
	}
	return os.WriteFile(b.VarsFile(), out, 0o644)
}

// mirrors returns containerd's mirror configuration, which redirects upstream registries to the
// depot.
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
