package contract

import "encoding/json"

// Request is what a run is asked to do, made from a Provisioning by the reconciler and read by every task.
type Request struct {
	// Provisioning, Namespace and UID name the object that the run works for; hosts are claimed in its name.
	Provisioning string `json:"provisioning"`
	Namespace    string `json:"namespace"`
	UID          string `json:"uid"`
	// Cluster is the cluster's name for people: ICN's label "cluster", else the name of the Provisioning.
	Cluster string `json:"cluster"`
	// Slots are the nodes that are wanted, masters first, in the order of the spec.
	Slots []Slot `json:"slots"`

	KubernetesVersion string `json:"kubernetesVersion"` // without a leading v: 1.35.4
	NetworkPlugin     string `json:"networkPlugin"`
	PodSubnet         string `json:"podSubnet"`     // CIDR
	ServiceSubnet     string `json:"serviceSubnet"` // CIDR
	SSHUser           string `json:"sshUser"`
	SSHPort           int    `json:"sshPort"`
	// DepotURL is the site's store without a trailing slash; empty: the Internet.
	DepotURL string `json:"depotURL,omitempty"`
	// Vars are the person's own kubespray variables, merged last.
	Vars map[string]json.RawMessage `json:"vars,omitempty"`
}

// Slot is one node that is wanted.
type Slot struct {
	Name  string   `json:"name"`  // node name, a DNS label
	Roles []string `json:"roles"` // RoleControlPlane, RoleWorker or both, in this order
	// MAC pins the slot to a host, lower case with colons; empty: any host that fits.
	MAC    string `json:"mac,omitempty"`
	CPU    int    `json:"cpu,omitempty"`    // at least so many threads
	Memory int64  `json:"memory,omitempty"` // at least so many bytes
	SRIOV  bool   `json:"sriov,omitempty"`
	QAT    bool   `json:"qat,omitempty"`
}

// Node is a slot with the host that was claimed for it.
type Node struct {
	Name    string   `json:"name"`
	Roles   []string `json:"roles"`
	Host    string   `json:"host"`    // name of the BareMetalHost
	HostUID string   `json:"hostUID"` // its UID: SSH host keys are pinned to it
	Address string   `json:"address"` // IP address by which the host is reached
}

// Progress is how far a task is; the kubespray task writes it, at most once a second.
type Progress struct {
	Run     string `json:"run"`     // PipelineRun it belongs to: what an older run wrote counts no more
	Percent int    `json:"percent"` // of this task, 0 to 100
	Step    string `json:"step"`    // such as the name of the Ansible task
}
