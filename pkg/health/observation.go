package health

import (
	"maps"
	"time"
)

// Observation is what one look at one cluster saw.
type Observation struct {
	// Silent explains why the API server gave no usable answer, such as "connection refused". Denied
	// explains why nothing could be seen although the API server answers, such as that it rejects the
	// credentials. Both are empty if the look succeeded.
	Silent, Denied string
	// Nodes are the nodes of the cluster by their names.
	Nodes map[string]Node
	// Leases are the renewTimes of the nodes' leases, as the API server wrote them, by the names of
	// the nodes. nil: the leases could not be read, so that only the conditions of the nodes count.
	Leases map[string]string
	// LeaseTimes are the durations of those leases; a missing one is not known.
	LeaseTimes map[string]time.Duration
	// NotAfter is when the API server's certificate expires; zero: it was not seen.
	NotAfter time.Time
}

// Node is what a look saw of one node.
type Node struct {
	// UID is that of the object; empty: not known. A node of the same name with another UID is another node.
	UID string
	// Ready reports whether the condition Ready is True. Reason explains why it is not.
	Ready  bool
	Reason string
	// Version is the version of the kubelet, without a leading v.
	Version string
	// Unschedulable reports that the node is cordoned.
	Unschedulable bool
	// Applied identifies the labels, annotations and taints that BPA has set on the node: see nodemeta.Applied.
	Applied string
}

// APIState is the state of a cluster's API server.
type APIState string

const (
	// APIUnknown means that it was not judged yet, or that it cannot be judged.
	APIUnknown APIState = "Unknown"
	// APIAnswers means that the API server is ready and answers.
	APIAnswers APIState = "Answers"
	// APISilent means that the API server does not answer, or is not ready.
	APISilent APIState = "Silent"
)

// NodeState is the state of a node.
type NodeState string

const (
	// NodeUnknown means that the node was not judged yet, or that the API server does not answer.
	NodeUnknown NodeState = "Unknown"
	// NodeReady means that the node is Ready and renews its lease.
	NodeReady NodeState = "Ready"
	// NodeNotReady means that the node is not Ready, does not renew its lease, or is flapping.
	NodeNotReady NodeState = "NotReady"
	// NodeMissing means that the cluster does not have the node.
	NodeMissing NodeState = "Missing"
)

// Report is the judgement of one cluster.
type Report struct {
	API APIState
	// Text explains APISilent, and APIUnknown if the API server can never be judged as things are.
	// An empty text with APIUnknown means that the next looks decide.
	Text string
	// Denied means that an API server answers, and rejects the credentials.
	Denied bool
	// Since is when the state began, as far as the looks show it; zero with APIUnknown.
	Since time.Time
	// Nodes are the expected nodes by their names.
	Nodes map[string]NodeReport
	// CertificateExpires is when the API server's certificate expires; zero: not known.
	CertificateExpires time.Time
}

// Equal reports whether two reports say the same.
func (r Report) Equal(o Report) bool {
	return r.API == o.API && r.Text == o.Text && r.Denied == o.Denied && r.Since.Equal(o.Since) && r.CertificateExpires.Equal(o.CertificateExpires) && maps.Equal(r.Nodes, o.Nodes)
}

// NodeReport is the judgement of one node.
type NodeReport struct {
	State NodeState
	// Text explains NodeNotReady and NodeMissing.
	Text  string
	Since time.Time
	// Version is the version of the kubelet that was seen last; empty: none was seen.
	Version string
	// Unschedulable reports that the node was cordoned when it was seen last, and Applied which labels, annotations and
	// taints BPA had set on it then: see nodemeta.Applied.
	Unschedulable bool
	Applied       string
}
