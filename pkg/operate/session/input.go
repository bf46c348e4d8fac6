package session

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/secretvars"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Input holds the parameters of one run.
type Input struct {
	Run      string // name of the PipelineRun
	Playbook string // such as cluster.yml
	// Played is the digest of an inventory with which an earlier run of the playbook succeeded;
	// contract.None: there is none.
	Played   string
	Request  contract.Request
	Nodes    []contract.Node
	HostsINI []byte
	// GroupVars are the variables of all hosts, as JSON.
	GroupVars  []byte
	PrivateKey []byte // private key of the SSH user, in PEM
	BackupKey  []byte // private key of the backups, in age's notation; empty: the run restores no backup
	// Secrets are the variables in Secrets with their values. They are hidden in everything that the task shows.
	Secrets secretvars.Values
	// PlaybooksDir holds the playbooks and their ansible.cfg. ScratchDir is the only writable
	// folder. The private key is copied there, so it should be in memory.
	PlaybooksDir, ScratchDir string
	// BootLimit is how long the task waits for nodes that do not answer yet. 0: see Input.wait.
	BootLimit time.Duration
	// ConnectLimit bounds the time of the first connection to each node. HealthLimit bounds the
	// time until the cluster is healthy. ProbeLimit bounds the time of one query to the new
	// cluster.
	ConnectLimit, HealthLimit, ProbeLimit time.Duration

	// Poll is the time between two queries while the task waits for the cluster or a machine. 0: see
	// PollInterval and FirstPause. Tests set it.
	Poll time.Duration

	// The operations set the fields below on copies of the input, for a part of a run. In the input of a run they
	// are empty.

	// others are the nodes of the cluster that are not in Nodes, because this part of the run does
	// not concern them. See Input.For.
	others []contract.Node
	// Limit are the names of the nodes to which the playbook is limited; empty: all nodes of the inventory.
	// ExtraVars are further variables of the playbook, which override those of the inventory.
	Limit     []string
	ExtraVars map[string]any
	// Fresh are the names of the nodes of Limit that join the cluster. The run changes the machines of the others
	// only through the playbook and Present, and never resets them. nil: all nodes of Limit.
	Fresh []string
	// Tags selects tasks of the playbook, as ansible-playbook does; empty: all of them. Alone reports that the
	// playbook connects only to the nodes of Limit.
	Tags  string
	Alone bool
	// Silent are the names of workers that are not waited for at the end, because they did not answer in a
	// restore.
	Silent []string
	// Sick are the names of nodes that were not Ready before the run and that it does not concern.
	Sick []string
	// SettingsAfter is what the record says of the variables of the control planes after the run (Node.Settings);
	// empty: they have those of the request.
	SettingsAfter string
}

// Output holds the results of a successful run.
type Output struct {
	Recap string // one line: ansible.Findings.Recap, or the result of a removal or a reset
}

// check checks the input and returns the private key. It runs before the task connects to any host.
func (in Input) check() (ssh.Key, error) {
	if len(in.Nodes) == 0 {
		return nil, fmt.Errorf("%s has no nodes", contract.KeyNodes)
	}
	resets := in.Playbook == contract.PlaybookReset || in.Playbook == contract.PlaybookRemove
	if len(node.ControlPlanes(in.Nodes)) == 0 && !resets { // a reset may be about the other nodes only, and a removal reads the record
		return nil, fmt.Errorf("no node in %s is a control plane", contract.KeyNodes)
	}
	for _, n := range in.Nodes {
		if n.HostUID == "" || n.Address == "" && !resets { // a reset leaves out a node without an address
			return nil, fmt.Errorf("node %s has no address or no host UID", n.Name)
		}
	}
	if err := in.CheckPlaybook(); err != nil {
		return nil, err
	}
	key, err := ssh.ParseKey(in.PrivateKey)
	if err != nil {
		return nil, fmt.Errorf("the SSH Secret's ssh-privatekey %w", err)
	}
	return key, nil
}

// CheckPlaybook checks that the playbook exists in PlaybooksDir.
func (in Input) CheckPlaybook() error {
	if !fs.ValidPath(in.Playbook) || strings.HasPrefix(in.Playbook, "-") || path.Ext(in.Playbook) != ".yml" {
		return fmt.Errorf("%q is not the name of a playbook, such as cluster.yml", in.Playbook)
	}
	if _, err := fs.Stat(os.DirFS(in.PlaybooksDir), in.Playbook); err != nil {
		return fmt.Errorf("there is no playbook %s in %s: check that the image of Task %s contains kubespray", in.Playbook, in.PlaybooksDir, contract.TaskKubespray)
	}
	return nil
}

// PollInterval returns the time between two queries while the task waits for the cluster.
func (in Input) PollInterval() time.Duration { return cmp.Or(in.Poll, time.Second) }

// FirstPause returns the first pause between two attempts, which grows up to LongestPause.
func (in Input) FirstPause() time.Duration { return cmp.Or(in.Poll, firstPause) }

// CheckSecrets checks that the variables in Secrets have the values for which the run was started: the record of the
// cluster is to have the digests of what was used. A reset uses what there is.
func (in Input) CheckSecrets() error {
	names := in.Secrets.Differ(in.Request.SecretVars)
	if len(names) == 0 || in.Playbook == contract.PlaybookReset {
		return nil
	}
	return task.Because(contract.ReasonVarsChanged, fmt.Errorf("the Secrets of spec.kubespray.varsFrom were changed after the run was started: %s; "+
		"the next attempt uses their present content", strings.Join(names, ", ")))
}

// ChangedNodes returns the nodes whose machines the run prepares for the playbook.
func (in Input) ChangedNodes() []contract.Node {
	if in.Fresh != nil {
		return in.NodesNamed(in.Fresh)
	}
	return in.PlaybookNodes()
}

// PlaybookNodes returns the nodes on which the playbook runs.
func (in Input) PlaybookNodes() []contract.Node {
	if len(in.Limit) == 0 {
		return in.Nodes
	}
	return in.NodesNamed(in.Limit)
}

// NodesNamed returns the nodes of the input with these names, in the order of the input.
func (in Input) NodesNamed(names []string) []contract.Node {
	return slices.DeleteFunc(slices.Clone(in.Nodes), func(n contract.Node) bool { return !slices.Contains(names, n.Name) })
}

// ContactedNodes returns the nodes to which the run connects before the playbook, and to which the playbook
// may connect. For contract.PlaybookScale and contract.PlaybookRemove, and if contract.PlaybookInstall
// is limited, these are the nodes that it changes, the other nodes on which it runs, and then the
// first control plane. Kubespray creates the join token and the certificates of etcd's clients
// there, and deletes Node objects there.
func (in Input) ContactedNodes() []contract.Node {
	switch {
	case in.Alone:
		return in.PlaybookNodes()
	case in.Playbook == contract.PlaybookReset || in.Playbook == contract.PlaybookInstall && len(in.Limit) == 0:
		return in.Nodes
	}
	all := in.ChangedNodes()
	for _, n := range slices.Concat(in.PlaybookNodes(), node.ControlPlanes(in.Nodes)[:1]) {
		if !HasName(all, n.Name) {
			all = append(all, n)
		}
	}
	return all
}

// For returns the input for some of its nodes, in the given order. Its other nodes are known to the result, but
// not a part of it.
func (in Input) For(nodes []contract.Node) Input {
	all := slices.Concat(in.Nodes, in.others)
	in.Nodes, in.others = nodes, slices.DeleteFunc(all, func(n contract.Node) bool { return slices.Contains(HostUIDs(nodes), n.HostUID) })
	return in
}

// AllNodes returns all nodes that the run knows, also those that this part of it does not concern.
func (in Input) AllNodes() []contract.Node { return slices.Concat(in.Nodes, in.others) }

// Unaccelerated says why the run has no acceleration, if an earlier attempt is the reason.
func (in Input) Unaccelerated() string {
	if in.Request.Unaccelerated == "" {
		return ""
	}
	return ", because run " + in.Request.Unaccelerated + " failed with it"
}

// ChangesPart reports whether the run changes a part of a cluster that exists. A restore, an installation and a check of
// the cluster, which removes no node, concern all nodes.
func (in Input) ChangesPart(members *ClusterRecord) bool {
	if r := in.Request.Remove; r != nil && len(r.Nodes)+len(r.Sets) == 0 {
		return false
	}
	return members.Text != "" && contract.OperationOf(in.Request.Operation).ChangesCluster() && in.Request.Restore == nil
}

// Concerned returns those of the nodes that the run installs or changes. A control plane that joins or leaves
// changes all others.
func (in Input) Concerned(nodes []contract.Node, members *ClusterRecord) []contract.Node {
	if !in.ChangesPart(members) {
		return nodes
	}
	operation := in.Request.Operation
	planes := operation == contract.OperationAddControlPlane || operation == contract.OperationRemoveControlPlane
	return slices.DeleteFunc(slices.Clone(nodes), func(n contract.Node) bool {
		recorded := slices.ContainsFunc(members.Now.Nodes, func(m contract.Node) bool { return m.Name == n.Name && m.HostUID == n.HostUID })
		return recorded && !slices.Contains(in.Limit, n.Name) && !(planes && RoleRank(n) == 0)
	})
}

// SickIn returns the names of the nodes that are not Ready and that the run does not concern. ready has the names of
// the Ready nodes.
func (in Input) SickIn(ready map[string]bool, members *ClusterRecord) (sick []string) {
	concerned := in.Concerned(in.Nodes, members)
	for _, n := range in.Nodes {
		if !ready[n.Name] && !HasName(concerned, n.Name) {
			sick = append(sick, n.Name)
		}
	}
	return sick
}
