package kubespray

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/kube"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// limited limits contract.PlaybookScale to the new nodes, so that the run does not contact the other
// workers. in.limit of the result is empty if no node is new. Other playbooks are not limited.
func limited(ctx context.Context, in Input, c contact, ports Ports) (Input, error) {
	if in.Playbook != contract.PlaybookScale {
		return in, nil
	}
	members, err := readInstalled(ctx, ports.Installed)
	if err != nil {
		return in, err
	}
	joined, err := readJoined(ctx, in, ports.Installed, members)
	if err != nil {
		return in, err
	}
	var stay []contract.Node
	for _, n := range in.Nodes {
		switch {
		case c.hasJoined(in, n, joined):
			stay = append(stay, n)
		case slices.Contains(n.Roles, contract.RoleControlPlane):
			return in, task.Because(contract.ReasonInvalidRequest,
				fmt.Errorf("node %s is a control plane that is not installed, but %s adds only workers", n.Name, in.Playbook))
		case !kubernetesName.MatchString(n.Name):
			return in, task.Because(contract.ReasonInvalidRequest, fmt.Errorf("%q is not the name of a node", n.Name))
		default:
			in.limit = append(in.limit, n.Name)
		}
	}
	if len(in.limit) > 0 && len(stay) > 0 {
		fmt.Fprintf(ports.Log, "New nodes: %s. These nodes stay as they are: %s\n", strings.Join(in.limit, ", "), names(stay))
	}
	return in, nil
}

// hasJoined reports whether a playbook has succeeded on the node's machine, and the machine was not
// reset since.
func (c contact) hasJoined(in Input, n contract.Node, joined []string) bool {
	return slices.Contains(joined, n.HostUID) && slices.Contains(in.Request.Installed, n.Host) && c.states[n.HostUID] != contract.HostClean
}

// readJoined returns the UIDs of the hosts on which a playbook has succeeded. These are the hosts of
// the record of the cluster, and those that joined in a run that failed later, before it wrote the
// record. If nothing is stored, an older build of BPA has installed the cluster. Then readJoined
// stores the installed hosts: in a later attempt, in.Request.Installed also has the new hosts.
func readJoined(ctx context.Context, in Input, store Store, members *installed) ([]string, error) {
	joined, stored, err := parseJoined(ctx, store)
	if err != nil {
		return nil, err
	}
	if stored || members.text != "" {
		return with(joined, uids(members.now.Nodes)), nil
	}
	for _, n := range in.Nodes {
		if slices.Contains(in.Request.Installed, n.Host) {
			joined = append(joined, n.HostUID)
		}
	}
	return joined, storeJoined(ctx, store, joined)
}

// parseJoined reads contract.KeyJoined; false: it does not exist.
func parseJoined(ctx context.Context, store Store) (joined []string, stored bool, err error) {
	text, err := store.Get(ctx, contract.KeyJoined)
	if err != nil {
		return nil, false, task.Because(kube.Reason(err), err)
	}
	if text == "" {
		return nil, false, nil
	}
	if err := json.Unmarshal([]byte(text), &joined); err != nil {
		return nil, false, task.Because(contract.ReasonInvalidRequest, fmt.Errorf("read %s: %w", contract.KeyJoined, err))
	}
	return joined, true, nil
}

// unjoin removes hosts from contract.KeyJoined, because their nodes have left the cluster.
func unjoin(ctx context.Context, store Store, uids []string) error {
	joined, stored, err := parseJoined(ctx, store)
	if err != nil || !stored {
		return err
	}
	if left := without(joined, uids); len(left) < len(joined) {
		return storeJoined(ctx, store, left)
	}
	return nil
}

func storeJoined(ctx context.Context, store Store, uids []string) error {
	text, err := json.Marshal(uids)
	if err != nil {
		return task.Because(contract.ReasonInternal, err)
	}
	if err := store.Set(ctx, contract.KeyJoined, string(text)); err != nil {
		return task.Because(kube.Reason(err), err)
	}
	return nil
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
