package backup

import (
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// Names of the files in a backup.
const (
	FileManifest  = "manifest.json" // always the first
	FileInstalled = "cluster/" + contract.KeyInstalled
	FileHostsINI  = "cluster/" + contract.KeyHostsINI
	FileGroupVars = "cluster/" + contract.KeyGroupVars
	FileSnapshot  = "etcd/snapshot.db" // always the last
	// FolderPKI has the keys of Kubernetes and FolderEtcdPKI those of etcd, if it runs outside of
	// Kubernetes.
	FolderPKI     = "pki"
	FolderEtcdPKI = "etcd-pki"
)

// Artifact returns the name of a backup in the depot. The depot never replaces an artifact, so the name
// has a part of the Backup's UID: a Backup of the same name that is created later gets another one.
func Artifact(name, uid string) string {
	return protocol.BackupName(name, uid)
}

// Place returns the name of the artifact of a cluster with its owner. The depot checks the rights of an
// owner in the namespace with this name.
func Place(namespace, provisioning, artifact string) protocol.Ref {
	return protocol.Ref{Owner: namespace, Cluster: provisioning, Kind: protocol.BinaryImages, Name: artifact}
}
