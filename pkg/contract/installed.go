package contract

import (
	"encoding/json"
	"strings"
)

// HostState describes what the task kubespray knows about the content of a host.
type HostState string

const (
	// HostUsed means that the task has changed the host, or was about to. The host can contain a
	// part of a cluster.
	HostUsed HostState = "used"
	// HostClean means that a reset has removed everything and has checked this.
	HostClean HostState = "clean"
)

// HostStates has the states of hosts by their UIDs. The task kubespray stores it under KeyHosts in
// the ConfigMap InstalledName. It stores HostUsed before it changes the host for the first time. A
// host that is not in the map was not changed.
type HostStates map[string]HostState

// ParseHostStates parses the JSON of HostStates. For an empty text it returns nil.
func ParseHostStates(text string) (HostStates, error) {
	if text == "" {
		return nil, nil
	}
	states := HostStates{}
	err := json.Unmarshal([]byte(text), &states)
	return states, err
}

// Installed describes an installed cluster. The task kubespray writes it under KeyInstalled into the
// ConfigMap InstalledName, each time that it has changed the members of the cluster and the cluster
// is healthy. If it is lost, the controller rebuilds it from the request of the last run and the
// list of nodes.
type Installed struct {
	// Request is the request of the run that made the cluster what it is. A run that changes one
	// part of the cluster has a request with this part changed and everything else as it was. The
	// fields that describe the run, from Operation to Remove, are empty.
	Request Request `json:"request"`
	// Nodes are the nodes of the cluster, in the order of kubespray's groups: control planes first,
	// the oldest first.
	Nodes []Node `json:"nodes"`
	// EtcdNext is the number of the next member of etcd, from 1. It only grows, so that the name of
	// a member is never used again.
	EtcdNext int `json:"etcdNext,omitempty"`
	// Draining are the names of nodes that were or may have been cordoned because they were to be
	// removed, and that are in the cluster. A run that does not remove such a node uncordons it.
	Draining []string `json:"draining,omitempty"`
	// Leaving are the names of nodes that were drained and are being removed from the cluster. Their
	// removal can only be completed.
	Leaving []string `json:"leaving,omitempty"`
}

// Removal describes which nodes a run removes from the cluster.
type Removal struct {
	// Nodes are the names of nodes, in the order in which they leave.
	Nodes []string `json:"nodes,omitempty"`
	// Sets are node sets that become smaller. The task kubespray chooses which of their nodes leave,
	// because only the cluster knows which of them are empty (see package shrink).
	Sets []SetRemoval `json:"sets,omitempty"`
	// DrainSeconds limits the time in which the pods of one node must have left it. 0: no pod is
	// evicted. Only an older build of BPA requests this, for nodes whose hosts are lost.
	DrainSeconds int `json:"drainSeconds,omitempty"`
}

// Upgrade describes which nodes a run upgrades.
type Upgrade struct {
	// Nodes are the names of the nodes: one control plane node, or a batch of workers. The run upgrades
	// only those of them that do not have the request's version and variables yet.
	Nodes []string `json:"nodes"`
	// From is the oldest version of a node of the cluster before the run.
	From string `json:"from"`
	// Path has the versions that the cluster still gets, in their order. The first is the request's
	// KubernetesVersion, the last the version that the spec requests. Their artifacts are checked
	// before the first node is changed.
	Path []string `json:"path"`
	// DrainSeconds limits the time in which the pods of one node must have left it.
	DrainSeconds int `json:"drainSeconds"`
}

// SetRemoval describes how many nodes leave a node set.
type SetRemoval struct {
	Name  string `json:"name"`
	Count int    `json:"count"` // at least 1
	// Candidates are all installed nodes of the set.
	Candidates []Candidate `json:"candidates"`
}

// Candidate is a node that can leave its set.
type Candidate struct {
	Node string `json:"node"`
	// Domain is the host's value of the set's topology key; empty: the set is not spread.
	Domain string `json:"domain,omitempty"`
	// Trouble reports that the host has a problem. Such a node leaves first.
	Trouble bool `json:"trouble,omitempty"`
}

// User identifies a Provisioning in AnnotationUsedBy: "NAMESPACE/NAME UID".
type User struct {
	Namespace, Name, UID string
}

func (u User) String() string { return u.Namespace + "/" + u.Name + " " + u.UID }

// Cluster returns "NAMESPACE/NAME", or only the name if the namespace is unknown.
func (u User) Cluster() string {
	if u.Namespace == "" {
		return u.Name
	}
	return u.Namespace + "/" + u.Name
}

// ParseUser parses the value of AnnotationUsedBy. It accepts any text, because a user can write the
// annotation too.
func ParseUser(text string) User {
	cluster, uid, _ := strings.Cut(text, " ")
	namespace, name, both := strings.Cut(cluster, "/")
	if !both {
		namespace, name = "", cluster
	}
	return User{Namespace: namespace, Name: name, UID: uid}
}

// User returns the Provisioning of the request as a User.
func (r Request) User() User { return User{Namespace: r.Namespace, Name: r.Provisioning, UID: r.UID} }
