package config

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// Files are the configuration files by path.
func Files(l layout.Layout, f Facts) map[string]string {
	return map[string]string{
		l.Etc("containerd.toml"):                        containerd(l, f),
		l.Etc("certs.d", layout.Depot, "hosts.toml"):    depotHosts("http://"+layout.Depot, ""),
		l.Etc("certs.d", layout.DepotTLS, "hosts.toml"): depotHosts("https://"+layout.DepotTLS, l.DepotCA()),
		l.Etc("cni", "10-bpa.conflist"):                 cni(l),
		l.Etc("kubelet.yaml"):                           kubelet(l),
		l.Etc("resolv.conf"):                            resolvConf(),
		l.Etc("proxy.yaml"):                             proxy(l, f),
	}
}

// Write stores the files; one that is right already keeps its time stamp, which says when a component must restart.
func Write(files map[string]string) error {
	for path, text := range files {
		if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, []byte(text)) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return fmt.Errorf("write configuration: %w", err)
		}
	}
	return nil
}
