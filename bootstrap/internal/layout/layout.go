package layout

import (
	"os"
	"path/filepath"
	"strings"
)

// Default is the state folder when BPA_STATE says nothing.
const Default = "/var/lib/bpa"

// Layout is the state folder of one bootstrap machine.
type Layout struct{ Root string }

// FromEnv gives the layout that BPA_STATE asks for.
func FromEnv() Layout {
	if root := os.Getenv("BPA_STATE"); root != "" {
		return Layout{Root: filepath.Clean(root)}
	}
	return Layout{Root: Default}
}

func (l Layout) path(parts ...string) string {
	return filepath.Join(append([]string{l.Root}, parts...)...)
}

// What survives `machine down`: builds, the depot's content, caches.

// Bin is a built tool.
func (l Layout) Bin(name string) string { return l.path("bin", name) }

// BinDir holds every built tool; it goes first in PATH.
func (l Layout) BinDir() string { return l.path("bin") }

// Stamp records what a build was made from.
func (l Layout) Stamp(name string) string { return l.path("stamps", name) }

// Cache keeps what is expensive to make, such as resolved manifests.
func (l Layout) Cache(parts ...string) string { return l.path(append([]string{"cache"}, parts...)...) }

// DepotDir is the store's content: the registry and the downloads.
func (l Layout) DepotDir() string { return l.path("depot") }

// DepotCA is the authority that the depot's TLS certificate is signed by; the depot makes it.
func (l Layout) DepotCA() string { return l.path("depot", "tls", "ca.crt") }

// DepotToken is what the depot's local door asks for a write; the depot makes it.
func (l Layout) DepotToken() string { return l.path("depot", "local-token") }

// DockerConfig is a folder that lets registry clients write at the local door: DOCKER_CONFIG for them.
func (l Layout) DockerConfig() string { return l.Etc("docker") }

// ToPush gives the name by which the machine itself pushes an image of the depot.
func ToPush(ref string) string {
	if path, ok := strings.CutPrefix(ref, Depot+"/"); ok {
		return DepotLocal + "/" + path
	}
	return ref
}

// CommandLock is held by the command that works on the state folder.
func (l Layout) CommandLock() string { return l.path(".lock") }

// What belongs to the running cluster and goes with `machine down`.

// Kubeconfig is the cluster administrator's.
func (l Layout) Kubeconfig() string { return l.path("kubeconfig") }

// PKI is the folder of keys and certificates.
func (l Layout) PKI() string { return l.path("pki") }

// Etc is a component's configuration file.
func (l Layout) Etc(parts ...string) string { return l.path(append([]string{"etc"}, parts...)...) }

// Data is a component's data folder.
func (l Layout) Data(parts ...string) string { return l.path(append([]string{"data"}, parts...)...) }

// Run holds sockets, locks and what only means something to live processes.
func (l Layout) Run(parts ...string) string { return l.path(append([]string{"run"}, parts...)...) }

// Log is a component's log file.
func (l Layout) Log(parts ...string) string { return l.path(append([]string{"log"}, parts...)...) }

// ContainerdSocket is the address of the container runtime.
func (l Layout) ContainerdSocket() string { return l.Run("containerd.sock") }

// ContainerdState holds the mounts and sockets of running containers; it means nothing after a reboot.
func (l Layout) ContainerdState() string { return l.Run("containerd") }

// RuncState holds what runc knows of running containers.
func (l Layout) RuncState() string { return l.Run("runc") }

// SupervisorSocket is where the supervisor answers.
func (l Layout) SupervisorSocket() string { return l.Run("supervisor.sock") }

// ClusterDirs are removed by `machine down`.
func (l Layout) ClusterDirs() []string {
	return []string{l.PKI(), l.path("etc"), l.path("data"), l.path("run"), l.path("log"), l.Kubeconfig()}
}
