package contract

// Labels and annotations on hosts, runs and the objects of a run.
const (
	// LabelCluster is on every object that belongs to a Provisioning and on every host that it holds; its value is the Provisioning's name.
	LabelCluster = "bpa.akraino.org/cluster"
	// LabelNode is on a claimed host: the node's name in the new cluster.
	LabelNode = "bpa.akraino.org/node"
	// LabelRolePrefix plus a role (control-plane, worker) is on a claimed host, with the value "true": a host can have both.
	LabelRolePrefix = "role.bpa.akraino.org/"
	// LabelSet is on a host that is claimed for a node set: the set's name. LabelStandby, with the value "true", is on one that is held and
	// not installed.
	LabelSet     = "bpa.akraino.org/node-set"
	LabelStandby = "bpa.akraino.org/standby"
	// LabelFormerNode is on a host that is held for no node any more although the named one may be installed on it.
	LabelFormerNode = "bpa.akraino.org/former-node"
	// LabelRelease, with the value "true", is on a held host that select-hosts has given up although it was given an image: the controller removes
	// the image and releases the host in one write.
	LabelRelease = "bpa.akraino.org/release"
	// LabelOperation and LabelAttempt are on a PipelineRun.
	LabelOperation = "bpa.akraino.org/operation"
	LabelAttempt   = "bpa.akraino.org/attempt"
	// LabelSRIOV and LabelQAT on a host say "true" if it has the hardware: metal3's facts do not.
	LabelSRIOV = "bpa.akraino.org/sriov"
	LabelQAT   = "bpa.akraino.org/qat"
	// AnnotationQuarantine on a host keeps BPA from taking it, and says so of one that is claimed; its value is the reason, for people.
	AnnotationQuarantine = "bpa.akraino.org/quarantine"
	// AnnotationOSImage on a host says that we gave it its operating system, and which: the URL of the image.
	AnnotationOSImage = "bpa.akraino.org/os-image"
	// AnnotationOSImageBefore on such a host is what its spec was before, as JSON of what we replaced: it gets that back when it is released.
	AnnotationOSImageBefore = "bpa.akraino.org/os-image-before"
	// AnnotationRequestDigest on a PipelineRun is the digest of the request it was started with.
	AnnotationRequestDigest = "bpa.akraino.org/request-digest"
	// AnnotationRetry on a Provisioning, with any new value, asks for another attempt after a failure for good.
	AnnotationRetry = "bpa.akraino.org/retry"
)

// Roles of a node.
const (
	RoleControlPlane = "control-plane"
	RoleWorker       = "worker"
)

// Operations.
const (
	// OperationInstall makes a cluster of claimed hosts.
	OperationInstall = "install"
	// OperationReplace puts other hosts in the place of lost ones of a cluster that is there: the same way, over the hosts that are left.
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

// None is the value of a result, and of the param that takes it, where there is nothing to tell.
const None = "none"

// Workspaces of the pipeline. All but ssh are ConfigMaps; no claim, no storage class.
const (
	WorkspaceRequest   = "request"   // ConfigMap <name>-request, key KeyRequest
	WorkspaceInventory = "inventory" // ConfigMap <name>-inventory, keys below
	WorkspaceSSH       = "ssh"       // Secret with ssh-privatekey
)

// Version of the contract between the controller and the tasks. Both tolerate fields that they do not know, so that a field whose absence changes nothing
// needs no new version: while BPA is upgraded, tasks of one build read what the other wrote. A change that an older task would get wrong needs one.
const Version = 1

// Keys of the ConfigMaps, which are file names in the workspaces.
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
	ResultCount           = "count"            // select-hosts: how many hosts are held
	ResultInventoryDigest = "inventory-digest" // render-inventory: sha256:hex of hosts.ini and all.json
	ResultRecap           = "recap"            // kubespray: "3 nodes: ok=812 changed=121 failed=0 unreachable=0 in 94s"
	ResultCA              = "ca"               // collect-kubeconfig: PEM of the new cluster's CA
	ResultCertificate     = "certificate"      // collect-kubeconfig: PEM of the client certificate
	ResultEndpoint        = "endpoint"         // collect-kubeconfig: https://address:port
	ResultVersion         = "version"          // collect-kubeconfig: what the new API server calls its version, such as v1.35.4
)

// DepotCAPath is where a node keeps the certificate of Request.DepotCA.
const DepotCAPath = "/etc/bpa/depot-ca.crt"

// MaxText bounds, in bytes, the free text in one result: all results of a task share 4096 bytes of termination message.
const MaxText = 900

// Names of the objects of a Provisioning, all in its namespace and owned by it.
func RequestName(provisioning string) string    { return provisioning + "-request" }
func InventoryName(provisioning string) string  { return provisioning + "-inventory" }
func KnownHostsName(provisioning string) string { return provisioning + "-known-hosts" }
func ProgressName(provisioning string) string   { return provisioning + "-progress" }

// KubeconfigName is the Secret with the kubeconfig, named as Cluster API names it.
func KubeconfigName(provisioning string) string { return provisioning + "-kubeconfig" }

// KubeconfigKeyName is the Secret with the private key of the kubeconfig and the request for its certificate. It stays: with the results of the
// last run the kubeconfig can be made again from it, without a run.
func KubeconfigKeyName(provisioning string) string { return provisioning + "-kubeconfig-key" }

// ServiceAccountName is the account that one task of a Provisioning runs as; each may do only what its task needs.
func ServiceAccountName(provisioning, task string) string { return provisioning + "-" + task }
