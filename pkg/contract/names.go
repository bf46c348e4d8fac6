package contract

import "strconv"

// Labels and annotations on hosts, runs and the objects of a run.
const (
	// LabelCluster is on every object of a Provisioning and on every host that it has claimed. Its
	// value is the name of the Provisioning.
	LabelCluster = "bpa.akraino.org/cluster"
	// LabelNamespace is on objects of a Provisioning in the namespace of its hosts, if that is another one.
	// Its value is the namespace of the Provisioning. Hosts do not have it: their consumerRef tells.
	LabelNamespace = "bpa.akraino.org/namespace"
	// AnnotationMaxHosts, on a namespace, is the largest number of hosts that its Provisionings may hold
	// together. Administrators set it: users with the role edit or admin of a namespace cannot write it.
	AnnotationMaxHosts = "bpa.akraino.org/max-hosts"
	// LabelNode, on a claimed host, is the name of its node in the new cluster.
	LabelNode = "bpa.akraino.org/node"
	// LabelRolePrefix is the first part of a label's name; the second part is a role
	// (control-plane, worker). The label is on a claimed host and has the value "true". A host with
	// both roles has two such labels.
	LabelRolePrefix = "role.bpa.akraino.org/"
	// LabelSet, on a host that is claimed for a node set, is the name of the set. LabelStandby, with
	// the value "true", marks a standby host of the set: it is claimed, but not installed.
	LabelSet     = "bpa.akraino.org/node-set"
	LabelStandby = "bpa.akraino.org/standby"
	// LabelFormerNode is on a claimed host that no longer has a node. Its value is the former node,
	// which may still be installed on the host.
	LabelFormerNode = "bpa.akraino.org/former-node"
	// LabelRelease is on a claimed host that is to be released, but has no node any more. Only the
	// controller may remove an image of BPA. It first removes the image. When Metal3 has
	// deprovisioned the host, the controller removes the claim. The value is ReleaseUnused or
	// ReleaseImageFailed.
	LabelRelease = "bpa.akraino.org/release"
	// ReleaseUnused: the host is not needed any more. ReleaseImageFailed: the host did not receive
	// its image, so the Provisioning must not choose it again.
	ReleaseUnused      = "true"
	ReleaseImageFailed = "image-failed"
	// LabelOperation is on a PipelineRun and names its operation. LabelAttempt is on a PipelineRun
	// and holds the number of its attempt.
	LabelOperation = "bpa.akraino.org/operation"
	LabelAttempt   = "bpa.akraino.org/attempt"
	// LabelBackup is on the run of a Backup, on the tasks and pods of this run, and on the Backup's
	// other objects. Its value is the name of the Backup. These objects do not have LabelCluster,
	// because they must not count as objects or runs of the Provisioning.
	LabelBackup = "bpa.akraino.org/backup"
	// LabelBackupOf is on a Backup that the controller has created at a time of the schedule. Its value
	// is the UID of the Provisioning, so that another Provisioning of the same name does not delete it.
	LabelBackupOf = "bpa.akraino.org/backup-of"
	// LabelSRIOV and LabelQAT say whether a host has SR-IOV or QAT, because Metal3's hardware facts do
	// not show it: "true" means yes, any other value means no. Without LabelSRIOV, the models of the
	// network cards decide. A host without LabelQAT has no QAT.
	LabelSRIOV = "bpa.akraino.org/sriov"
	LabelQAT   = "bpa.akraino.org/qat"
	// AnnotationQuarantine, on a host, prevents BPA from claiming the host. If the host is already
	// claimed, it counts as lost. The value is the reason, for users to read.
	AnnotationQuarantine = "bpa.akraino.org/quarantine"
	// AnnotationOSImage, on a host, is the URL of the image that BPA asked Metal3 to install on it.
	AnnotationOSImage = "bpa.akraino.org/os-image"
	// AnnotationOSImageBefore is on a host with AnnotationOSImage. It holds, as JSON, the earlier
	// values of the fields that BPA replaced in the host's spec. They are restored when the host is
	// released.
	AnnotationOSImageBefore = "bpa.akraino.org/os-image-before"
	// AnnotationDetachedByRestore is on a host that `machine restore` has detached, with the time. RestoredPaused and
	// RestoredDetached are the values of Metal3's annotations paused and detached that it adds. The bootstrap module
	// has the same values in internal/restore.
	AnnotationDetachedByRestore = "bpa.akraino.org/restored-by-machine"
	RestoredPaused              = "bpa-machine-restore"
	RestoredDetached            = `{"deleteAction":"delay","force":true}`
	// AnnotationImportedLabels is on a host that `kubectl bpa hosts import` has made or changed: the names of the labels that it
	// has set, with commas. AnnotationImportedHost is on a Secret that it has made, with the name of the host.
	AnnotationImportedLabels = "bpa.akraino.org/imported-labels"
	AnnotationImportedHost   = "bpa.akraino.org/imported-host"
	// AnnotationUsedBy is on a host on which a playbook of BPA has run since the host was last reset
	// or received its operating system. Its value is a User, whose cluster may still be on the host.
	// Only this Provisioning can claim the host. The controller writes the annotation. It removes
	// the annotation after a reset and after a new image. A user who has cleaned a host removes it
	// too.
	AnnotationUsedBy = "bpa.akraino.org/used-by"
	// AnnotationFenced is on a lost host that the controller asked Metal3 to power off, so that its node
	// cannot run beside the node that replaces it. The value is the time of the request (RFC 3339), a
	// space, and a User. The controller removes the annotation when it powers the host on again or
	// releases it.
	AnnotationFenced = "bpa.akraino.org/fenced"
	// AnnotationRequestDigest, on a PipelineRun, is the digest of the request with which it was started.
	AnnotationRequestDigest = "bpa.akraino.org/request-digest"
	// AnnotationRetry, on a Provisioning, requests another attempt after a permanent failure. The
	// request counts only if the value differs from the last one that the controller processed.
	AnnotationRetry = "bpa.akraino.org/retry"
	// AnnotationAdopting is on a Provisioning that `kubectl bpa adopt` has paused. The command removes it as its last
	// step. Its value is AdoptingResume if the Provisioning is then to be resumed; any other value: it stays paused.
	AnnotationAdopting = "bpa.akraino.org/adopting"
	// AdoptingResume and AdoptingPaused are the values of AnnotationAdopting.
	AdoptingResume = "resume"
	AdoptingPaused = "paused"
	// AnnotationRotateKubeconfig, on a Provisioning, requests a kubeconfig with a new user. All earlier
	// kubeconfigs stop working. The request counts if the value differs from AnnotationRotated.
	AnnotationRotateKubeconfig = "bpa.akraino.org/rotate-kubeconfig"
	// AnnotationRotated, on the Secrets of the kubeconfig and of its key, is the value of
	// AnnotationRotateKubeconfig for which their user was made; absent: no rotation was requested.
	AnnotationRotated = "bpa.akraino.org/rotated-kubeconfig"
	// AnnotationRevoked, on the Secret of the kubeconfig, lists the users that had rights in the cluster
	// after the rights of all others were deleted, and the newest run at that time: see
	// access.Revoked.
	AnnotationRevoked = "bpa.akraino.org/revoked-others"
	// AnnotationDenied, on the Secret of the kubeconfig, is since when (RFC 3339) the cluster denies its
	// user; absent: it does not, as far as is known.
	AnnotationDenied = "bpa.akraino.org/denied-since"
	// AnnotationRestore, on a Provisioning, requests a restore of the cluster. The value is the name of a
	// Backup, which other words may follow: RestoreForce accepts the loss of the present content of etcd,
	// and any other word, such as a time, makes the value another one. The request counts if the
	// record does not have the value yet: see Installed.WasRestored.
	AnnotationRestore = "bpa.akraino.org/restore"
	// RestoreForce is a word in the value of AnnotationRestore.
	RestoreForce = "force"
	// AnnotationRestored, on the Secret of the kubeconfig, is the value of AnnotationRestore of the last
	// restore before the kubeconfig was collected; absent: the cluster was never restored.
	AnnotationRestored = "bpa.akraino.org/restored"
	// AnnotationPatch, on a Provisioning, requests newer packages for the operating systems of all nodes.
	// The value, such as a time, only has to differ from Installed.Patched.
	AnnotationPatch = "bpa.akraino.org/patch"
	// AnnotationSoftware, on a Provisioning, requests a run for its Softwares. The value is a text without spaces,
	// such as a time, which only has to differ from SoftwareRecord.Asked, and optionally a space and SoftwareCheck or
	// SoftwareUpdate. Without these words, the run tries again what has failed, and repairs what was changed by hand.
	// One of the words alone has the same effect, also in capital letters. Any other word counts as SoftwareCheck.
	AnnotationSoftware = "bpa.akraino.org/software"
	// SoftwareCheck, in AnnotationSoftware, requests a look at all nodes without a change. SoftwareUpdate
	// requests that packages without automatic updates are updated too.
	SoftwareCheck  = "check"
	SoftwareUpdate = "update"
	// LabelVars, on a Secret, with the value "true", allows spec.kubespray.varsFrom to name it.
	LabelVars = "bpa.akraino.org/vars"
	// AnnotationBackupScheduled, on a Provisioning, is the last time (RFC 3339) of spec.backup.schedule
	// for which the controller has created a Backup, or the time at which it first saw the schedule.
	// On a Backup, it is the time of the schedule for which the Backup was created.
	AnnotationBackupScheduled = "bpa.akraino.org/backup-scheduled"
	// AnnotationKeepCopy, on a Backup, with the value KeepCopy, makes its deletion leave the copy in the
	// depot. A user sets it if the depot, or the node with the run's pod, is gone for ever.
	AnnotationKeepCopy = "bpa.akraino.org/keep-copy"
	// KeepCopy is the only value of AnnotationKeepCopy that counts.
	KeepCopy = "true"
)

// Roles of a node.
const (
	RoleControlPlane = "control-plane"
	RoleWorker       = "worker"
)

// Params of the pipeline.
const (
	ParamProvisioning = "provisioning" // name of the Provisioning; its namespace is the run's
	ParamPlaybook     = "playbook"     // such as cluster.yml
	// ParamPlayed is the inventory digest (ResultInventoryDigest) of an earlier run whose playbook
	// succeeded; None: there is no such run. If the inventory is still the same, the task kubespray
	// does not run the playbook again.
	ParamPlayed             = "played"
	ParamCertificateRequest = "certificate-request" // PEM of the PKCS#10 request for the kubeconfig's client certificate: public data
	ParamArtifact           = "artifact"            // name of the backup in the depot, without its folder
	ParamRecipient          = "recipient"           // public key for which the backup is encrypted, in age's notation
)

// ParamPlugins, with the value "true", makes a run of PipelineInstall or PipelineRestore install the plugins of the request
// and remove those that it does not list any more. Without it, the run leaves out the task
// install-plugins. Every run of PipelinePlugins has that task.
const ParamPlugins = "plugins"

// ParamEnroll, with the value "true", makes a run install the SSH key of its cluster on the hosts that do not
// accept it. Without it, the run leaves out the task enroll.
const ParamEnroll = "enroll"

// None is the value of a result that has nothing to report, and of the param that receives this
// result.
const None = "none"

// Workspaces of the pipeline. They are ConfigMaps, except ssh, site-ssh, backup-key and vars, which are Secrets. A run
// needs no PersistentVolumeClaim and no storage class.
const (
	WorkspaceRequest   = "request"   // ConfigMap <name>-run-<number>, key KeyRequest
	WorkspaceInventory = "inventory" // ConfigMap <name>-run-<number>-out, keys below
	WorkspaceSSH       = "ssh"       // Secret NodesKeyName with ssh-privatekey
	// WorkspaceSiteSSH is the Secret of spec.ssh.secretName: the SSH key of the site, which opens all of its hosts.
	// Only the task enroll has it, and only in a run with ParamEnroll.
	WorkspaceSiteSSH = "site-ssh"
	// WorkspaceBackupKey is Secret BackupKeyName. Only the operation restore has it.
	WorkspaceBackupKey = "backup-key"
	// WorkspaceVars has the files of secretvars.FileName, from the Secrets of spec.kubespray.varsFrom. A run
	// that needs no value of a Secret does not have it.
	WorkspaceVars = "vars"
)

// Version is the version of the contract between the controller and the tasks. During an upgrade of
// BPA, tasks of one build read data that the controller of the other build wrote. Both ignore
// unknown fields. Therefore, a new field needs no new version if a reader without this field
// behaves correctly. A change that a task of the other build would misinterpret needs a new version. The
// tasks then refuse the request with ReasonVersionSkew, and the next attempt has one of their version.
const Version = 4

// Keys of the ConfigMaps. A workspace contains each key as a file with this name.
const (
	KeyRequest    = "request.json"  // Request, in <name>-run-<number>, written by the reconciler
	KeyVersion    = "version"       // Version in decimal, in <name>-run-<number>
	KeyNodes      = "nodes.json"    // []Node, in <name>-run-<number>-out, written by select-hosts
	KeyHostsINI   = "hosts.ini"     // in <name>-run-<number>-out, written by render-inventory
	KeyGroupVars  = "all.json"      // variables for all hosts, JSON (which is YAML), in <name>-run-<number>-out, written by render-inventory
	KeyChecks     = "checks.json"   // Checks, in <name>-run-<number>-out, written by enroll
	KeyKnownHosts = "known_hosts"   // in <name>-known-hosts, written by kubespray at first contact
	KeyProgress   = "progress.json" // Progress, in <name>-progress, written by kubespray and install-plugins
	KeyPlugins    = "plugins.json"  // []PluginStatus, in <name>-plugins, written by install-plugins
	KeySoftware   = "software.json" // SoftwareRecord, in <name>-software, written by install-software and kubespray
	// KeyEnds is the name of a run that is to end after the nodes on which it works, written by the controller: in
	// <name>-software a run for Softwares, in <name>-progress another one (Operation.EndsEarly).
	KeyEnds   = "ends"
	KeyHosts  = "hosts.json"  // HostStates, in <name>-installed, written by kubespray
	KeyJoined = "joined.json" // UIDs of the hosts on which a playbook succeeded, in <name>-installed, written by kubespray
	// KeyInstalled, in <name>-installed, is Installed as JSON, written by kubespray.
	KeyInstalled = "installed.json"
	// KeyClaimed, in <name>-installed, has as JSON the nodes ([]Node) for which select-hosts has claimed hosts at last, also
	// standby nodes and nodes that are still to be installed. select-hosts writes it. KeyInstalled says which of them are
	// members of the cluster.
	KeyClaimed = "claimed.json"
	// KeyComplete, in <name>-installed, has the value "true" if the cluster was complete and healthy
	// once. The task kubespray writes it as soon as it knows, so that a later attempt keeps the
	// cluster even if the rest of that run failed (see Request.Complete).
	KeyComplete = "complete"
	// KeyAvailable, in <name>-installed, has the workloads that were available before a batch of nodes
	// was drained for an upgrade, as JSON; empty: no batch is incomplete. The task kubespray writes it.
	KeyAvailable = "available.json"
	// KeyProved, in <name>-installed, is Restore.Asked of a restore whose copy and whose missing majority of
	// etcd a run has proved before it changed anything. The task kubespray writes it before it reports
	// ReasonHostsNotFenced, and empties it when it finds that etcd works. Without it, and without
	// RestoreForce, the controller powers no host off for a restore that has not begun: the control planes
	// that look lost may be the majority of a working etcd.
	KeyProved = "proved"
	// KeyRestored, in <name>-installed, names the restore and its content if etcd has the content of the backup and the
	// API servers run. A later attempt then does not begin again: users may have written something since. The task
	// kubespray writes it, and empties it when the record says that the restore is complete.
	KeyRestored = "restored"
)

// Results of the tasks.
const (
	ResultFailure         = "failure"          // every task: Failure as JSON, written only when the task fails
	ResultArtifacts       = "artifacts"        // seed-registry: "all 22 artifacts are in the depot"
	ResultOSImage         = "os-image-sha256"  // seed-registry: SHA-256 of the uploaded OS image in hexadecimal, or None
	ResultChecksums       = "checksums"        // seed-registry: inventory.Pins, JSON
	ResultHosts           = "hosts"            // select-hosts: "master-1=host-3 worker-1=host-1", cut to MaxText
	ResultCount           = "count"            // select-hosts: number of claimed hosts
	ResultInventoryDigest = "inventory-digest" // render-inventory: sha256:hex of hosts.ini and all.json
	ResultRecap           = "recap"            // kubespray: "3 nodes: ok=812 changed=121 failed=0 unreachable=0 in 94s"
	ResultCA              = "ca"               // collect-kubeconfig: PEM of the new cluster's CA
	ResultCertificate     = "certificate"      // collect-kubeconfig: PEM of the client certificate
	ResultEndpoint        = "endpoint"         // collect-kubeconfig: https://address:port
	ResultVersion         = "version"          // collect-kubeconfig: version of the new API server, such as v1.35.4; backup: that of the member's node, such as 1.35.4
	ResultPlugins         = "plugins"          // install-plugins: "2 installed, 2 skipped"
	ResultSoftware        = "software"         // install-software: "3 nodes: 5 packages installed, 1 failed"
	ResultSHA256          = "sha256"           // backup: of the artifact, in hexadecimal
	ResultSize            = "size"             // backup: of the artifact, in bytes
	ResultRevision        = "revision"         // backup: etcd's revision when the snapshot began
	ResultMember          = "member"           // backup: name of the node whose member of etcd made the snapshot
)

// DepotCAPath is the file on a node that contains Request.DepotCA, the certificate of the authority
// that signed the depot's certificate.
const DepotCAPath = "/etc/bpa/depot-ca.crt"

// AptKeyPath is the file on a node with the public key that signs the depot's indexes of OS packages,
// in OpenPGP's armor.
const AptKeyPath = "/etc/bpa/depot-apt-key.asc"

// MaxText is the maximum length, in bytes, of a result that contains free text. All results of a
// task share 4096 bytes, the maximum of a container's termination message.
const MaxText = 900

// The following functions return the names of the objects that a Provisioning owns in its namespace.

func KnownHostsName(provisioning string) string { return provisioning + "-known-hosts" }
func ProgressName(provisioning string) string   { return provisioning + "-progress" }
func InstalledName(provisioning string) string  { return provisioning + "-installed" }

// PluginsName returns the name of the ConfigMap with the record of the plugins. The reconciler creates
// it, empty, before it starts a run that installs plugins.
func PluginsName(provisioning string) string { return provisioning + "-plugins" }

// SoftwareName returns the name of the ConfigMap with the record of the software. The reconciler creates
// it, empty, before it starts a run that installs software.
func SoftwareName(provisioning string) string { return provisioning + "-software" }

// RunRequestName returns the name of the ConfigMap with the request of the run of this number. It cannot be
// changed, and is deleted together with its run.
func RunRequestName(provisioning string, number int32) string {
	return provisioning + "-run-" + strconv.Itoa(int(number))
}

// RequestName returns the name of the ConfigMap with the request of a run that no Provisioning has, such as that of
// `kubectl bpa reset`. name is the name of the run.
func RequestName(name string) string { return name + "-request" }

// OutcomeName returns the name of the ConfigMap in which the tasks of one run store what its later tasks read. request
// is the name of the ConfigMap with the request of the run. The two are created and deleted together.
func OutcomeName(request string) string { return request + "-out" }

// KubeconfigName returns the name of the Secret with the kubeconfig. Cluster API uses the same name.
func KubeconfigName(provisioning string) string { return provisioning + "-kubeconfig" }

// KubeconfigKeyName returns the name of the Secret with the private key of the kubeconfig and its
// certificate request. When the kubeconfig is stored, it also gets the public data from which that was made. With them
// the controller can create the kubeconfig again without a run.
func KubeconfigKeyName(provisioning string) string { return provisioning + "-kubeconfig-key" }

// HealthKubeconfigName returns the name of the Secret with the kubeconfig for health checks. Its user
// may only read the state of the API server, the nodes and their Leases.
func HealthKubeconfigName(provisioning string) string { return provisioning + "-health" }

// VarsKeyName returns the name of the Secret with the key of the digests of variables in Secrets
// (Request.SecretVars). Without the key, nobody can guess a value by its digest.
func VarsKeyName(provisioning string) string { return provisioning + "-vars-key" }

// NodesKeyName returns the name of the Secret with the SSH key of a cluster. The key opens the machines of this
// cluster only, and all tasks but enroll connect with it. If the Secret is deleted, the next run makes another
// key and installs it.
func NodesKeyName(provisioning string) string { return provisioning + "-nodes-ssh-key" }

// BackupKeyName returns the name of the Secret with the key pair for the backups of a cluster. The
// Provisioning does not own it: backups must be readable after the Provisioning was deleted.
func BackupKeyName(provisioning string) string { return provisioning + "-backup-key" }

// ServiceAccountName returns the name of the account of one task of a Provisioning. Each account has
// only the permissions that its task needs.
func ServiceAccountName(provisioning, task string) string { return provisioning + "-" + task }
