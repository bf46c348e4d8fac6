package kubespray

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

	// poll is the time between two queries while the task waits for the cluster or a machine. 0: see
	// pollInterval and firstPause. Tests set it.
	poll time.Duration
	// others are the nodes of the cluster that are not in Nodes, because this part of the run does
	// not concern them.
	others []contract.Node
	// limit are the nodes to which the playbook is limited; empty: all nodes of the inventory.
	// extra are further variables of the playbook, which override those of the inventory.
	limit []string
	extra map[string]any
	// fresh are the nodes of limit that join the cluster. The run changes the machines of the others
	// only through the playbook and equipPresent, and never resets them. nil: all nodes of limit.
	fresh []string
	// tags selects tasks of the playbook; empty: all of them. alone reports that the playbook
	// connects only to the nodes of limit.
	tags  string
	alone bool
	// silent are the names of workers that are not waited for at the end, because they did not answer in a
	// restore. content is what the record says of the variables of the control planes after it (Node.Settings);
	// empty: they have those of the request.
	silent []string
	// sick are the names of nodes that were not Ready before the run and that it does not concern.
	sick    []string
	content string
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
	if err := in.checkPlaybook(); err != nil {
		return nil, err
	}
	key, err := ssh.ParseKey(in.PrivateKey)
	if err != nil {
		return nil, fmt.Errorf("the SSH Secret's ssh-privatekey %w", err)
	}
	return key, nil
}

// checkPlaybook checks that the playbook exists in PlaybooksDir.
func (in Input) checkPlaybook() error {
	if !fs.ValidPath(in.Playbook) || strings.HasPrefix(in.Playbook, "-") || path.Ext(in.Playbook) != ".yml" {
		return fmt.Errorf("%q is not the name of a playbook, such as cluster.yml", in.Playbook)
	}
	if _, err := fs.Stat(os.DirFS(in.PlaybooksDir), in.Playbook); err != nil {
		return fmt.Errorf("there is no playbook %s in %s: check that the image of Task %s contains kubespray", in.Playbook, in.PlaybooksDir, contract.TaskKubespray)
	}
	return nil
}

// pollInterval returns the time between two queries while the task waits for the cluster.
func (in Input) pollInterval() time.Duration { return cmp.Or(in.poll, time.Second) }

// firstPause returns the first pause between two attempts, which grows up to longestPause.
func (in Input) firstPause() time.Duration { return cmp.Or(in.poll, firstPause) }

// checkSecrets checks that the variables in Secrets have the values for which the run was started: the record of the
// cluster is to have the digests of what was used. A reset uses what there is.
func (in Input) checkSecrets() error {
	names := in.Secrets.Differ(in.Request.SecretVars)
	if len(names) == 0 || in.Playbook == contract.PlaybookReset {
		return nil
	}
	return task.Because(contract.ReasonVarsChanged, fmt.Errorf("the Secrets of spec.kubespray.varsFrom were changed after the run was started: %s; "+
		"the next attempt uses their present content", strings.Join(names, ", ")))
}

// changed returns the nodes whose machines the run prepares for the playbook.
func (in Input) changed() []contract.Node {
	if in.fresh != nil {
		return in.called(in.fresh)
	}
	return in.limited()
}

// limited returns the nodes on which the playbook runs.
func (in Input) limited() []contract.Node {
	if len(in.limit) == 0 {
		return in.Nodes
	}
	return in.called(in.limit)
}

// called returns the nodes of the input with these names, in the order of the input.
func (in Input) called(names []string) []contract.Node {
	return slices.DeleteFunc(slices.Clone(in.Nodes), func(n contract.Node) bool { return !slices.Contains(names, n.Name) })
}

// contacted returns the nodes to which the run connects before the playbook, and to which the playbook
// may connect. For contract.PlaybookScale and contract.PlaybookRemove, and if contract.PlaybookInstall
// is limited, these are the nodes that it changes, the other nodes on which it runs, and then the
// first control plane. Kubespray creates the join token and the certificates of etcd's clients
// there, and deletes Node objects there.
func (in Input) contacted() []contract.Node {
	switch {
	case in.alone:
		return in.limited()
	case in.Playbook == contract.PlaybookReset || in.Playbook == contract.PlaybookInstall && len(in.limit) == 0:
		return in.Nodes
	}
	all := in.changed()
	for _, n := range slices.Concat(in.limited(), node.ControlPlanes(in.Nodes)[:1]) {
		if !named(all, n.Name) {
			all = append(all, n)
		}
	}
	return all
}

// only returns the input for some of its nodes.
func (in Input) only(nodes []contract.Node) Input {
	all := slices.Concat(in.Nodes, in.others)
	in.Nodes, in.others = nodes, slices.DeleteFunc(all, func(n contract.Node) bool { return slices.Contains(uids(nodes), n.HostUID) })
	return in
}

// unaccelerated says why the run has no acceleration, if an earlier attempt is the reason.
func (in Input) unaccelerated() string {
	if in.Request.Unaccelerated == "" {
		return ""
	}
	return ", because run " + in.Request.Unaccelerated + " failed with it"
}

// beside reports whether the run changes a part of a cluster that exists. A restore, an installation and a check of
// the cluster, which removes no node, concern all nodes.
func (in Input) beside(members *installed) bool {
	if r := in.Request.Remove; r != nil && len(r.Nodes)+len(r.Sets) == 0 {
		return false
	}
	return members.text != "" && contract.OperationOf(in.Request.Operation).ChangesCluster() && in.Request.Restore == nil
}

// concerned returns those of the nodes that the run installs or changes. A control plane that joins or leaves
// changes all others.
func (in Input) concerned(nodes []contract.Node, members *installed) []contract.Node {
	if !in.beside(members) {
		return nodes
	}
	operation := in.Request.Operation
	planes := operation == contract.OperationAddControlPlane || operation == contract.OperationRemoveControlPlane
	return slices.DeleteFunc(slices.Clone(nodes), func(n contract.Node) bool {
		recorded := slices.ContainsFunc(members.now.Nodes, func(m contract.Node) bool { return m.Name == n.Name && m.HostUID == n.HostUID })
		return recorded && !slices.Contains(in.limit, n.Name) && !(planes && rankOfRole(n) == 0)
	})
}

// sickIn returns the names of the nodes that are not Ready and that the run does not concern.
func (in Input) sickIn(ready map[string]bool, members *installed) (sick []string) {
	concerned := in.concerned(in.Nodes, members)
	for _, n := range in.Nodes {
		if !ready[n.Name] && !named(concerned, n.Name) {
			sick = append(sick, n.Name)
		}
	}
	return sick
}
