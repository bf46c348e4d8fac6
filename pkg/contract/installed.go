package contract

import (
	"encoding/json"
	"slices"
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
	// Request is what the run was to make of the cluster that has made it what it is. A run that changes one
	// part of the cluster has a request with this part changed and everything else as it was. Patched is
	// empty: it is in Installed.
	Request Spec `json:"request"`
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
	// Restoring is Restore.Asked of a restore that a run has begun: the control planes may have parts of
	// it, and the content of the backup is not complete. Restored is that of the last complete restore.
	// Empty: none.
	Restoring string `json:"restoring,omitempty"`
	Restored  string `json:"restored,omitempty"`
	// RestoredBefore are the values of Restored before the present one, the oldest first. An old manifest
	// that is applied again can have one of them.
	RestoredBefore []string `json:"restoredBefore,omitempty"`
	// Patched is the patch level of those nodes' operating systems that have none of their own (see
	// Upgrade.Patch and SettlePatched). Empty: none was requested, or not every node has it.
	Patched string `json:"patched,omitempty"`
}

// Restore describes the backup whose content a run gives to the cluster.
type Restore struct {
	// Asked is the value of AnnotationRestore that requested the restore.
	Asked string `json:"asked"`
	// Backup is the name of the Backup. Artifact is the name of its copy in the depot (see package backup) and
	// SHA256 the digest of the copy in hexadecimal.
	Backup   string `json:"backup"`
	Artifact string `json:"artifact"`
	SHA256   string `json:"sha256"`
	// Force reports that the user accepts the loss of what etcd contains now, although it has a majority.
	Force bool `json:"force,omitempty"`
	// Fenced reports that the controller has powered off, before the run, all hosts of lost control planes
	// that Metal3 can power off. Without it, a run that meets old control planes that do not answer
	// records KeyProved and ends with ReasonHostsNotFenced before it changes anything.
	Fenced bool `json:"fenced,omitempty"`
}

// mostRestored limits Installed.RestoredBefore.
const mostRestored = 9

// SetRestored records that the restore with this value of Restore.Asked is complete.
func (i *Installed) SetRestored(asked string) {
	before := slices.DeleteFunc(append(slices.Clone(i.RestoredBefore), i.Restored), func(old string) bool { return old == "" || old == asked })
	i.RestoredBefore = before[max(len(before)-mostRestored, 0):]
	i.Restoring, i.Restored = "", asked
}

// WasRestored reports whether a restore with this value of Restore.Asked is complete.
func (i Installed) WasRestored(asked string) bool {
	return asked == i.Restored || slices.Contains(i.RestoredBefore, asked)
}

// Removal describes which nodes a run removes from the cluster.
type Removal struct {
	// Nodes are the names of nodes, in the order in which they leave.
	Nodes []string `json:"nodes,omitempty"`
	// Alive are the names of those nodes that work although their hosts are in quarantine. They leave so that
	// other hosts can take their places. If the machine of one of them does not answer, the run ends before it
	// changes anything: the controller then powers the host off.
	Alive []string `json:"alive,omitempty"`
	// Sets are node sets that become smaller. The task kubespray chooses which of their nodes leave,
	// because only the cluster knows which of them are empty (see package shrink).
	Sets []SetRemoval `json:"sets,omitempty"`
	// DrainSeconds limits the time in which the pods of one node must have left it. 0: no pod is
	// evicted.
	DrainSeconds int `json:"drainSeconds,omitempty"`
	// DrainsSeconds is the time after which the run begins no other drain, so that its limit is not over before
	// nodes have left. The next run drains the other nodes. 0: no limit.
	DrainsSeconds int `json:"drainsSeconds,omitempty"`
}

// Upgrade describes which nodes a run upgrades.
type Upgrade struct {
	// Nodes are the names of the nodes: one control plane node, or a batch of workers. The run upgrades
	// only those of them that do not have the request's version, variables and patch level yet.
	Nodes []string `json:"nodes"`
	// From is the oldest version of a node of the cluster before the run.
	From string `json:"from"`
	// Path has the versions that the cluster still gets, in their order. The first is the request's
	// KubernetesVersion, the last the version that the spec requests. Their artifacts are checked
	// before the first node is changed.
	Path []string `json:"path"`
	// DrainSeconds limits the time in which the pods of one node must have left it.
	DrainSeconds int `json:"drainSeconds"`
	// DrainsSeconds is as in Removal.
	DrainsSeconds int `json:"drainsSeconds,omitempty"`
	// Patch is the requested patch level of the operating systems, a value that the user has chosen,
	// such as a time. A node that has another one gets the packages that are available now. Empty: no
	// node is patched.
	Patch string `json:"patch,omitempty"`
	// Narrow describes variables that the run applies without a drain. Nodes are then all nodes of the
	// cluster, and DrainSeconds is 0. nil: the run upgrades the nodes.
	Narrow *Narrow `json:"narrow,omitempty"`
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
func (s Spec) User() User { return User{Namespace: s.Namespace, Name: s.Provisioning, UID: s.UID} }
