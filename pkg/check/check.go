package check

import (
	"slices"
	"strings"
	"time"
	"unicode"
)

// Severity says what a finding means for a cluster on the host.
type Severity string

const (
	// Error means that the installation would fail, or the cluster would not work.
	Error Severity = "error"
	// Warning means that the cluster can be installed, and that something is likely to go wrong later.
	Warning Severity = "warning"
)

// Check is one row of the table.
type Check struct {
	ID       string
	Severity Severity
	What     string // the state that the check expects
	Do       string // what a person does if it is another one
	// Machine reports that the check also applies to the bootstrap machine.
	Machine bool
	// Elsewhere has the reasons with which runs report the same without this check; empty: runs make the check.
	Elsewhere string

	judge func(w *world)
}

// Result is the outcome of a check that has something to say.
type Result string

const (
	// Failed means that the host is not as the check expects.
	Failed Result = "failed"
	// Unknown means that the check could not be made.
	Unknown Result = "unknown"
)

// Finding is what a check has found out about a host.
type Finding struct {
	ID       string   `json:"id"`
	Severity Severity `json:"severity"`
	Result   Result   `json:"result"`
	// Host is the name of the node in the input; empty: the finding is about the machine that has asked, or about all hosts.
	Host string `json:"host,omitempty"`
	Seen string `json:"seen"`
	Do   string `json:"do"`
}

// Blocks reports whether the finding is a reason not to start.
func (f Finding) Blocks() bool { return f.Result == Failed && f.Severity == Error }

// Node is a host that is to become a node, or is one.
type Node struct {
	Name    string // of the host or of the node, for people; unique in an Input
	Address string // IP address at which the other nodes reach it; empty: not known
	// Roles are the roles that contract defines; empty: not known, so the host may get each of them.
	Roles []string
	// MACs are the hardware addresses of the host; empty: not known.
	MACs []string
	// Member reports that the host has the cluster already: its Kubernetes, its ports and its routes are no problem.
	Member bool
}

// Depot is where the nodes download from.
type Depot struct {
	URL string // without a trailing slash; empty: there is none
	CA  string // PEM; empty: the nodes trust its certificate already
}

// Input is what the cluster needs. Empty fields are not known, and what depends on them is not checked.
type Input struct {
	Nodes []Node
	// KubernetesVersion has no leading v. NetworkPlugin and ProxyMode are kubespray's kube_network_plugin and
	// kube_proxy_mode. PodSubnets and ServiceSubnets are CIDRs.
	KubernetesVersion, NetworkPlugin, ProxyMode string
	PodSubnets, ServiceSubnets                  []string
	// OperatingSystem is ID-VERSION_ID of os-release(5).
	OperatingSystem string
	Depot           Depot
	// APIPort is the port of the API servers; 0: 6443. CgroupV1 reports that the kubelet accepts cgroup v1, and NoLocalDNS that
	// nodes have no local cache of names.
	APIPort              int
	CgroupV1, NoLocalDNS bool
	// APIName is the DNS name of the load balancer in front of the API servers; empty: it has none.
	APIName string
	// Eviction has the limits of the kubelet (kubespray's eviction_hard) by their signal, such as imagefs.available;
	// nil: those of the kubelet itself.
	Eviction map[string]string
	// Accepted are the IDs of checks whose failure is accepted by variables of kubespray, such as kubeadm_ignore_preflight_errors.
	Accepted []string
	// Machine reports that the only node is the bootstrap machine itself: Table marks the checks that apply to it.
	Machine bool
	// Run reports that a run asks, before it changes the hosts: Table marks the checks that it makes. It asks from a pod, whose
	// address says nothing about the machine, and a host that does not answer to the end stops no run.
	Run bool
	// Site is what the objects of the site say; nil: it is not checked.
	Site *Site
	// Skip are the IDs of checks that are not made.
	Skip []string
}

// Site is what the objects of the site say. A text is the problem of an object; empty: there is none.
type Site struct {
	Kinds, Settings, SSHKey, Hosts string
}

// Answer is what a host has said.
type Answer struct {
	// Err is why the host has not answered; nil: Facts are its answer.
	Err   error
	Facts Facts
	// Asked and Answered are the times of this machine before the script began and after it had ended.
	Asked, Answered time.Time
}

// Judge compares the answers of all nodes, in the order of in.Nodes. Errors come first, then what is unknown, then warnings.
func Judge(in Input, answers []Answer) []Finding {
	var all []Finding
	for _, c := range table {
		if slices.Contains(in.Skip, c.ID) || slices.Contains(in.Accepted, c.ID) || in.Machine && !c.Machine || in.Run && c.Elsewhere != "" {
			continue
		}
		c.judge(&world{in: in, answers: answers, say: func(result Result, host, seen string) {
			all = append(all, Finding{ID: c.ID, Severity: c.Severity, Result: result, Host: host, Seen: printable(seen, mostSeen), Do: c.Do})
		}})
	}
	rank := func(f Finding) int {
		switch {
		case f.Blocks():
			return 0
		case f.Result == Failed:
			return 1
		}
		return 2
	}
	var sorted []Finding
	for r := range 3 {
		for _, f := range all {
			if rank(f) == r {
				sorted = append(sorted, f)
			}
		}
	}
	return sorted
}

// Table returns all checks, in their order.
func Table() []Check { return slices.Clone(table) }

// IDs returns the IDs of all checks.
func IDs() []string {
	var ids []string
	for _, c := range table {
		ids = append(ids, c.ID)
	}
	return ids
}

// OfRuns returns the IDs of the checks that runs make, and that can be switched off in a Provisioning.
func OfRuns() []string {
	var ids []string
	for _, c := range table {
		if c.Elsewhere == "" {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// mostSeen bounds the text of a finding, in characters.
const mostSeen = 400

// printable returns a text in one line, without characters that control a terminal.
func printable(text string, most int) string {
	var b strings.Builder
	n := 0
	for _, r := range text {
		if n++; n > most {
			return b.String() + "..."
		}
		switch {
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		case unicode.IsPrint(r) && r != unicode.ReplacementChar:
			b.WriteRune(r)
		default:
			b.WriteByte('?')
		}
	}
	return b.String()
}

// world is what a check looks at.
type world struct {
	in      Input
	answers []Answer
	say     func(result Result, host, seen string)
}

// each calls judge for each node that has answered.
func (w *world) each(judge func(n Node, f *Facts, fail, unknown func(seen string))) {
	for i, n := range w.in.Nodes {
		if w.answers[i].Err != nil {
			continue
		}
		judge(n, &w.answers[i].Facts,
			func(seen string) { w.say(Failed, n.Name, seen) },
			func(seen string) { w.say(Unknown, n.Name, seen) })
	}
}

// may reports whether a node has a role or may get it.
func (n Node) may(role string) bool { return len(n.Roles) == 0 || slices.Contains(n.Roles, role) }
