package config

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/akraino-icn/bpa/bootstrap/internal/disk"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// Files returns the content of all configuration files by path.
func Files(l layout.Layout, f Facts) map[string]string {
	net := l.Net()
	files := map[string]string{
		l.Etc("containerd.toml"):                       containerd(l, f),
		l.Etc("certs.d", net.Depot(), "hosts.toml"):    depotHosts("http://"+net.Depot(), ""),
		l.Etc("certs.d", net.DepotTLS(), "hosts.toml"): depotHosts("https://"+net.DepotTLS(), l.DepotCA()),
		l.Etc("cni", "10-bpa.conflist"):                cni(l),
		l.Etc("kubelet.yaml"):                          kubelet(l),
		l.Etc("resolv.conf"):                           resolvConf(l),
		l.Etc("proxy.yaml"):                            proxy(l, f),
	}
	maps.Copy(files, machineControlPlane(l).Files())
	return files
}

// Write writes the files. It does not touch a file that already has the wanted content, because a
// new modification time would restart a component.
func Write(files map[string]string) error {
	for path, text := range files {
		if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, []byte(text)) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := disk.WriteFile(path, []byte(text), 0o644); err != nil {
			return fmt.Errorf("write configuration: %w", err)
		}
	}
	return nil
}
