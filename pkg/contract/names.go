package contract

// Labels and annotations on hosts, runs and the objects of a run.
const (
	// LabelCluster is on every object of a Provisioning and on every host that it has claimed. Its
	// value is the name of the Provisioning.
	LabelCluster = "bpa.akraino.org/cluster"
	// LabelNode, on a claimed host, is the name of its node in the new cluster.
	LabelNode = "bpa.akraino.org/node"
	// LabelRolePrefix, followed by a role (control-plane, worker), is on a claimed host with the value
	// "true". A host can have both roles.
	LabelRolePrefix = "role.bpa.akraino.org/"
	// LabelSet, on a host that is claimed for a node set, is the name of the set. LabelStandby, with
	// the value "true", marks a standby host of the set: it is claimed, but not installed.
	LabelSet     = "bpa.akraino.org/node-set"
	LabelStandby = "bpa.akraino.org/standby"
	// LabelFormerNode is on a claimed host that no longer has a node. Its value is the former node,
	// which may still be installed on the host.
	LabelFormerNode = "bpa.akraino.org/former-node"
	// LabelRelease, with the value "true", is on a claimed host that has an image and that select-hosts
	// no longer uses. The controller removes the image and releases the host in one write.
	LabelRelease = "bpa.akraino.org/release"
	// LabelOperation and LabelAttempt are on a PipelineRun.
	LabelOperation = "bpa.akraino.org/operation"
	LabelAttempt   = "bpa.akraino.org/attempt"
	// LabelSRIOV and LabelQAT, with the value "true", mark a host that has the hardware, because
	// Metal3's hardware facts do not show it.
	LabelSRIOV = "bpa.akraino.org/sriov"
	LabelQAT   = "bpa.akraino.org/qat"
	// AnnotationQuarantine, on a host, keeps BPA from claiming it. A claimed host with it counts as
	// lost. Its value is the reason, for users.
	AnnotationQuarantine = "bpa.akraino.org/quarantine"
	// AnnotationOSImage, on a host, is the URL of the image that BPA asked Metal3 to install on it.
	AnnotationOSImage = "bpa.akraino.org/os-image"
	// AnnotationOSImageBefore, on such a host, holds the fields of its spec that BPA replaced, as JSON.
	// They are restored when the host is released.
	AnnotationOSImageBefore = "bpa.akraino.org/os-image-before"
	// AnnotationRequestDigest, on a PipelineRun, is the digest of the request with which it was started.
	AnnotationRequestDigest = "bpa.akraino.org/request-digest"
	// AnnotationRetry, on a Provisioning, requests another attempt after a permanent failure, if its
	// value is new.
	AnnotationRetry = "bpa.akraino.org/retry"
)

// Roles of a node.
const (
	RoleControlPlane = "control-plane"
	RoleWorker       = "worker"
)

// Operations.
const (
	// OperationInstall installs a cluster on the claimed hosts.
	OperationInstall = "install"
	// OperationReplace replaces lost hosts of an installed cluster. It runs the tasks of an
	// installation; the remaining hosts keep their nodes.
	OperationReplace = "replace"
)

// PipelineInstall is the Pipeline that installs a cluster, in tekton/pipelines. InstallTasks are its tasks.
const PipelineInstall = "bpa-install"

// Params of the pipeline.
const (
	ParamProvisioning       = "provisioning"        // name of the Provisioning; its namespace is the run's
	ParamPlaybook           = "playbook"            // such as cluster.yml
	ParamCertificateRequest = "certificate-request" // PEM of the PKCS#10 request for the kubeconfig's client certificate: public data
)

// None is the value of a result, and of the param that receives it, if there is no value.
const None = "none"

// Workspaces of the pipeline. They are ConfigMaps, except ssh, which is a Secret. A run needs no
// PersistentVolumeClaim and no storage class.
const (
	WorkspaceRequest   = "request"   // ConfigMap <name>-request, key KeyRequest
	WorkspaceInventory = "inventory" // ConfigMap <name>-inventory, keys below
	WorkspaceSSH       = "ssh"       // Secret with ssh-privatekey
)

// Version is the version of the contract between the controller and the tasks. During an upgrade of BPA,
// tasks of one build read what the controller of the other build wrote. Both ignore unknown fields, so a
// new field whose absence changes nothing needs no new version. A change that an older task would
// misread needs one.
const Version = 1

// Keys of the ConfigMaps. In the workspaces they are the names of files.
const (
	KeyRequest    = "request.json"  // Request, in <name>-request, written by the reconciler
	KeyVersion    = "version"       // Version in decimal, in <name>-request; absent: 1
	KeyNodes      = "nodes.json"    // []Node, in <name>-inventory, written by select-hosts
	KeyHostsINI   = "hosts.ini"     // in <name>-inventory, written by render-inventory
	KeyGroupVars  = "all.json"      // variables for all hosts, JSON (which is YAML), in <name>-inventory, written by render-inventory
	KeyKnownHosts = "known_hosts"   // in <name>-known-hosts, written by kubespray at first contact
	KeyProgress   = "progress.json" // Progress, in <name>-progress, written by kubespray
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
	ResultVersion         = "version"          // collect-kubeconfig: version of the new API server, such as v1.35.4
)

// DepotCAPath is the file on a node that holds the certificate of Request.DepotCA.
const DepotCAPath = "/etc/bpa/depot-ca.crt"

// MaxText limits the free text in one result, in bytes. All results of a task share 4096 bytes, the
// maximum of a container's termination message.
const MaxText = 900

// The following functions return the names of the objects that a Provisioning owns in its namespace.

func RequestName(provisioning string) string    { return provisioning + "-request" }
func InventoryName(provisioning string) string  { return provisioning + "-inventory" }
func KnownHostsName(provisioning string) string { return provisioning + "-known-hosts" }
func ProgressName(provisioning string) string   { return provisioning + "-progress" }

// KubeconfigName returns the name of the Secret with the kubeconfig. Cluster API uses the same name.
func KubeconfigName(provisioning string) string { return provisioning + "-kubeconfig" }

// KubeconfigKeyName returns the name of the Secret with the private key of the kubeconfig and its
// certificate request. The Secret stays: from it and the results of the last run, the controller can
// recreate the kubeconfig without a run.
func KubeconfigKeyName(provisioning string) string { return provisioning + "-kubeconfig-key" }

// ServiceAccountName returns the name of the account of one task of a Provisioning. Each account has
// only the permissions that its task needs.
func ServiceAccountName(provisioning, task string) string { return provisioning + "-" + task }
