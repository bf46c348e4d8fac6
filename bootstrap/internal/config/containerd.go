package config

import (
	"fmt"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// PauseImage is the image in the depot of the container that keeps the namespaces of a pod open.
const PauseImage = "pause:3.10.1"

// containerd returns containerd's configuration. It sets restrict_oom_score_adj on a machine on
// which runc may not lower oom_score_adj. Without it, a container would fail to start there, with
// only the message "can't get final child's PID from pipe: EOF". Plugins that write outside the
// state folder are disabled.
func containerd(l layout.Layout, f Facts) string {
	return fmt.Sprintf(`version = 3
root = %q
state = %q
disabled_plugins = [
  "io.containerd.internal.v1.opt", "io.containerd.nri.v1.nri", "io.containerd.internal.v1.tracing",
  "io.containerd.tracing.processor.v1.otlp",
  "io.containerd.snapshotter.v1.blockfile", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.erofs",
  "io.containerd.differ.v1.erofs",
]

[grpc]
  address = %q

[plugins.'io.containerd.cri.v1.images']
  snapshotter = "overlayfs"
  [plugins.'io.containerd.cri.v1.images'.pinned_images]
    sandbox = %q
  [plugins.'io.containerd.cri.v1.images'.registry]
    config_path = %q

[plugins.'io.containerd.cri.v1.runtime']
  disable_apparmor = %t
  restrict_oom_score_adj = %t
  netns_mounts_under_state_dir = true
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ["/usr/lib/cni"]
    conf_dir = %q
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
      Root = %q
      SystemdCgroup = false
`, l.Data("containerd"), l.ContainerdState(), l.ContainerdSocket(), l.Pull(PauseImage), l.Etc("certs.d"),
		!f.AppArmor, !f.LowerOOMScore, l.Etc("cni"), l.RuncState())
}

// depotHosts returns containerd's registry configuration (hosts.toml) for the depot at url. ca is
// the path of its CA certificate; it is empty for plain HTTP.
func depotHosts(url, ca string) string {
	text := fmt.Sprintf("server = %[1]q\n\n[host.%[1]q]\n  capabilities = [\"pull\", \"resolve\"]\n", url)
	if ca != "" {
		text += fmt.Sprintf("  ca = %q\n", ca)
	}
	return text
}

// cni returns the CNI configuration, which connects pods to the machine's own bridge. It does not
// masquerade traffic, because pods must not reach other networks.
func cni(l layout.Layout) string {
	return fmt.Sprintf(`{
  "cniVersion": "1.0.0",
  "name": "bpa",
  "plugins": [
    {
      "type": "bridge", "bridge": %q, "isGateway": true, "ipMasq": false, "hairpinMode": true,
      "ipam": {
        "type": "host-local", "dataDir": %q,
        "ranges": [[{"subnet": "%s", "rangeStart": %q, "gateway": %q}]],
        "routes": [{"dst": "0.0.0.0/0"}]
      }
    },
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
`, layout.Bridge, l.Data("cni"), l.Net().Pods, l.Net().PodFirst(), l.Net().NodeIP())
}
