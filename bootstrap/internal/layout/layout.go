package layout

import (
	"os"
	"path/filepath"
)

// Default is the state folder if BPA_STATE is not set.
const Default = "/var/lib/bpa"

// Layout returns the paths below the state folder of one bootstrap machine, and its network.
type Layout struct {
	Root    string
	Network *Network // nil: DefaultNetwork
}

// Net returns the network of the machine.
func (l Layout) Net() Network {
	if l.Network == nil {
		return DefaultNetwork()
	}
	return *l.Network
}

// Site is the file with the network of the machine. It does not exist on a machine with DefaultNetwork.
func (l Layout) Site() string { return l.Etc("site.yaml") }

// FromEnv returns the layout for the state folder in BPA_STATE, or for Default if that is not set.
func FromEnv() Layout {
	if root := os.Getenv("BPA_STATE"); root != "" {
		return Layout{Root: filepath.Clean(root)}
	}
	return Layout{Root: Default}
}

func (l Layout) path(parts ...string) string {
	return filepath.Join(append([]string{l.Root}, parts...)...)
}

// `machine destroy` keeps the following: builds, the content of the depot, caches.

// Bin is the path of a built program.
func (l Layout) Bin(name string) string { return l.path("bin", name) }

// BinDir is the folder of all built programs. It goes first in PATH.
func (l Layout) BinDir() string { return l.path("bin") }

// Stamp is the file that stores the hash of a build's inputs.
func (l Layout) Stamp(name string) string { return l.path("stamps", name) }

// Cache is the folder for files that are expensive to create again, such as resolved manifests.
func (l Layout) Cache(parts ...string) string { return l.path(append([]string{"cache"}, parts...)...) }

// DepotDir is the folder with the content of the depot: the registry and the downloads.
func (l Layout) DepotDir() string { return l.path("depot") }

// DepotCA is the file with the CA certificate that signs the depot's TLS certificate. The depot
// creates it.
func (l Layout) DepotCA() string { return l.path("depot", "tls", "ca.crt") }

// DepotToken is the file with the token that the depot's local listener requires for writes. The
// depot creates it.
func (l Layout) DepotToken() string { return l.path("depot", "local-token") }

// DepotSecrets are the files of the depot, relative to DepotDir, without which its clients do not know it again: its
// certificates, the key with which it signs its packages, and the secrets with which it makes tokens and locations of uploads.
func DepotSecrets() []string { return []string{"tls", "local-token", "upload-secret", "apt-key.asc"} }

// DockerConfig is the folder that registry clients use as DOCKER_CONFIG to write at the depot's
// local listener.
func (l Layout) DockerConfig() string { return l.Etc("docker") }

// Pull returns the reference with which nodes pull an image of the depot.
func (l Layout) Pull(image string) string { return l.Net().Depot() + "/" + image }

// Push returns the reference with which the machine itself reads and writes an image of the depot.
func Push(image string) string { return DepotLocal + "/" + image }

// CommandLock is the file that a command locks while it works on the state folder.
func (l Layout) CommandLock() string { return l.path(".lock") }

// `machine destroy` removes the following: the state of the running cluster.

// Kubeconfig is the kubeconfig of the cluster administrator.
func (l Layout) Kubeconfig() string { return l.path("kubeconfig") }

// PKI is the folder with keys and certificates.
func (l Layout) PKI() string { return l.path("pki") }

// Etc is the path of a configuration file, or the configuration folder if there are no parts.
func (l Layout) Etc(parts ...string) string { return l.path(append([]string{"etc"}, parts...)...) }

// BackupSettings is the file that says where, how often and for which key the machine is backed up.
func (l Layout) BackupSettings() string { return l.Etc("backup.yaml") }

// BackupRecord is the file that has the result of the last backup.
func (l Layout) BackupRecord() string { return l.Data("backup.json") }

// BackupLock is the file that is locked while a backup is made.
func (l Layout) BackupLock() string { return l.Run("backup.lock") }

// Data is the data folder of a component, or the folder of all data if there are no parts.
func (l Layout) Data(parts ...string) string { return l.path(append([]string{"data"}, parts...)...) }

// Run is the folder for sockets, locks and other files that only running processes use.
func (l Layout) Run(parts ...string) string { return l.path(append([]string{"run"}, parts...)...) }

// Log is the path of a log file, or the folder of all logs if there are no parts.
func (l Layout) Log(parts ...string) string { return l.path(append([]string{"log"}, parts...)...) }

// RestoreDir is the folder in which a backup becomes the new state of the machine.
func (l Layout) RestoreDir(parts ...string) string {
	return l.path(append([]string{"restore"}, parts...)...)
}

// BeforeRestore is the folder with the state that the last restore has replaced.
func (l Layout) BeforeRestore(parts ...string) string {
	return l.path(append([]string{"before-restore"}, parts...)...)
}

// ContainerdSocket is the socket of the container runtime.
func (l Layout) ContainerdSocket() string { return l.Run("containerd.sock") }

// ContainerdState is the folder with mounts and sockets of running containers. Its content is stale
// after a reboot.
func (l Layout) ContainerdState() string { return l.Run("containerd") }

// RuncState is the folder with runc's state of running containers.
func (l Layout) RuncState() string { return l.Run("runc") }

// ContainerDirs returns the folders with the state of running containers, which is stale when none runs.
func (l Layout) ContainerDirs() []string {
	return []string{l.ContainerdState(), l.RuncState(), l.Data("cni")}
}

// SupervisorSocket is the control socket of the supervisor.
func (l Layout) SupervisorSocket() string { return l.Run("supervisor.sock") }

// ClusterDirs returns the folders and files that `machine destroy` removes.
func (l Layout) ClusterDirs() []string {
	return []string{l.PKI(), l.path("etc"), l.path("data"), l.path("run"), l.path("log"), l.Kubeconfig(), l.RestoreDir(), l.BeforeRestore()}
}
