package join

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/inventory"
	"github.com/akraino-icn/bpa/pkg/operate/cluster"
	"github.com/akraino-icn/bpa/pkg/operate/controlplane"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/playbook"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Progress of the addition of a control plane in percent: where its playbook, the update of the API
// servers and the update of the proxies begin.
const (
	joinFrom, serversFrom, proxiesFrom, membersFrom = 5, 70, 80, 97
)

// addition adds a control plane to an installed cluster, also in the place of a lost one.
type addition struct {
	in       session.Input // with the nodes in their order, and the names of their members of etcd
	key      ssh.Key
	ports    session.Ports
	progress *playbook.Progress
	planes   controlplane.Group // of the control planes that stay
	former   []contract.Node
	c        session.Contact
	removed  bool // something was removed from the cluster
}

// AddControlPlane adds a control plane and returns the recap. Each step changes only what is not
// right yet, so that an attempt that was interrupted is continued by the next one. It repeats the
// steps after the playbook, because the record does not say which of them were complete.
func AddControlPlane(ctx context.Context, in session.Input, key ssh.Key, ports session.Ports, progress *playbook.Progress) (string, error) {
	a := &addition{in: in, key: key, ports: ports, progress: progress}
	if err := a.plan(ctx); err != nil {
		return "", err
	}
	var err error
	if a.in, err = cluster.WithSick(ctx, a.in, key, a.c.Pins, ports); err != nil {
		return "", err
	}
	recap := "the control plane has joined in an earlier attempt"
	if len(a.in.Fresh) > 0 {
		if recap, a.c.Pins, err = change(ctx, a.in, key, ports, progress, a.before, a.part(joinFrom, serversFrom)); err != nil {
			return "", err
		}
	}
	if err := a.after(ctx); err != nil {
		return "", err
	}
	return recap, cluster.Finish(ctx, a.in, key, a.c.Pins, ports, progress)
}

func (a *addition) part(from, to int) func(percent int, step string) {
	return func(percent int, step string) { a.progress.Set(from+percent*(to-from)/100, step) }
}

// plan finds out which nodes are new, which control planes stay and which are gone, and on which
// nodes the playbook runs.
func (a *addition) plan(ctx context.Context) (err error) {
	in := &a.in
	if len(in.Request.Members) == 0 {
		return task.Because(contract.ReasonInvalidRequest, errors.New("the request does not say which nodes the cluster has, so no control plane is added"))
	}
	if a.c, err = session.Recall(ctx, *in, a.ports); err != nil {
		return err
	}
	complete, err := session.ReadComplete(ctx, a.ports.Installed)
	if err != nil {
		return err
	}
	in.Request.Complete = in.Request.Complete || complete
	members, err := session.ReadClusterRecord(ctx, a.ports.Installed)
	if err != nil {
		return err
	}
	joined, err := session.ReadJoined(ctx, *in, a.ports.Installed, members)
	if err != nil {
		return err
	}
	in.Nodes, _ = inventory.Members(in.Request, in.Nodes)
	a.former = session.FormerControlPlanes(in.Request)
	stay := []contract.Node{}
	for _, n := range in.Nodes {
		switch isPlane := len(node.ControlPlanes([]contract.Node{n})) > 0; {
		case !session.KubernetesName.MatchString(n.Name):
			return task.Because(contract.ReasonInvalidRequest, fmt.Errorf("%q is not the name of a node", n.Name))
		case a.c.HasJoined(*in, n, joined):
			if isPlane {
				stay = append(stay, n)
			}
		case !isPlane:
			return task.Because(contract.ReasonInvalidRequest, fmt.Errorf("node %s is not installed, but this run adds only control planes", n.Name))
		default:
			in.Fresh = append(in.Fresh, n.Name)
		}
	}
	if len(stay) == 0 {
		return task.Because(contract.ReasonQuorumAtRisk, errors.New("no control plane of the cluster is left. "+controlplane.QuorumAdvice))
	}
	gone := slices.DeleteFunc(slices.Clone(a.former), func(n contract.Node) bool { return slices.Contains(session.HostUIDs(in.Nodes), n.HostUID) })
	for _, n := range gone {
		if !slices.Contains(in.Request.Lost, n.Name) {
			return task.Because(contract.ReasonInvalidRequest, fmt.Errorf("control plane %s is in the cluster and not lost, but not in the inventory of this run", n.Name))
		}
	}
	a.limit()
	a.planes = controlplane.Group{Input: *in, Ports: a.ports, Stay: stay, Gone: gone, Access: a.access()}
	return nil
}

func (a *addition) access() node.Access {
	return node.Access{Dial: a.ports.Dial, Request: a.in.Request, Key: a.key, Pins: a.c.Pins, Limit: a.in.ConnectLimit}
}

// limit limits the playbook to the new control plane, or to all control planes if the members of
// etcd change: kubespray writes the addresses for the certificates of a new member only if the first
// member is in the play, and tells the members that stay about the new one. Then kubespray must not
// replace the certificates of the members that stay, because it restarts them for this.
func (a *addition) limit() {
	in := &a.in
	in.Limit = in.Fresh
	if len(a.joins()) > 0 {
		in.Limit = session.Names(node.ControlPlanes(in.Nodes))
	}
	if !in.Request.SetsVar(controlplane.RefreshCertificates) {
		in.ExtraVars = map[string]any{controlplane.RefreshCertificates: false}
	}
	if len(in.Fresh) > 0 {
		fmt.Fprintf(a.ports.Log, "New control plane: %s. The playbook runs on %s\n", strings.Join(in.Fresh, ", "), strings.Join(in.Limit, ", "))
	}
}

// joins returns the nodes that the run makes members of etcd.
func (a *addition) joins() []contract.Node { return session.Joining(a.former, a.in.Nodes) }

// before prepares the cluster for the new control plane: it removes lost control planes, and what an
// unfinished attempt has left in etcd.
func (a *addition) before(ctx context.Context, c session.Contact) error {
	a.c = c
	a.planes.Access = a.access()
	a.progress.Set(2, "Check etcd")
	found, err := cluster.Find(ctx, a.in.For(a.planes.Stay), a.key, c.Pins, a.ports)
	if err != nil || !found.HasControlPlane(a.in.For(a.planes.Stay)) {
		return a.noQuorum(errors.Join(errors.New("no control plane that stays is Ready"), err))
	}
	defer found.Close()
	if err := controlplane.CheckServer(ctx, found.Client, a.in, a.planes.Gone); err != nil {
		return err
	}
	for _, n := range a.planes.Gone {
		if slices.Contains(a.in.Request.Kept, n.Name) && len(a.joins()) == 0 {
			continue
		}
		a.progress.Set(3, "Remove the lost control plane "+n.Name)
		if err := a.forget(ctx, found, n); err != nil {
			return err
		}
	}
	if err := a.checkMembers(ctx, found); err != nil {
		return err
	}
	names := session.With(session.Without(session.Names(a.planes.Gone), a.in.Request.Kept), session.With(a.in.Fresh, session.Names(a.joins())))
	if err := a.planes.ForgetCertificates(ctx, names); err != nil {
		return err
	}
	a.progress.Set(4, "Point the control planes to their own API servers")
	if err := a.planes.Repoint(ctx); err != nil {
		return err
	}
	if err := a.planes.ShareAddress(ctx, node.ControlPlanes(a.in.Nodes)); err != nil {
		return err
	}
	before := a.planes
	before.Stay = a.membersBefore()
	return before.Publish(ctx)
}

// membersBefore returns the control planes that stay, with the members of etcd before the run.
func (a *addition) membersBefore() []contract.Node {
	stay := slices.Clone(a.planes.Stay)
	for i, n := range stay {
		if !session.IsMemberOf(a.former, n) {
			stay[i].Etcd = ""
		}
	}
	return stay
}

func (a *addition) noQuorum(err error) error {
	return &task.Error{Reason: contract.ReasonQuorumAtRisk, Host: a.in.Fresh[0], Step: "check etcd", Err: fmt.Errorf("%w. %s%s", err, a.unchanged(), controlplane.QuorumAdvice)}
}

// unchanged is a sentence for the user if it is true.
func (a *addition) unchanged() string {
	if a.removed {
		return ""
	}
	return "Nothing was changed in the cluster. "
}

// after lets the other nodes use the new control plane, and waits for etcd.
func (a *addition) after(ctx context.Context) error {
	a.planes.Access = a.access()
	a.planes.Stay = node.ControlPlanes(a.in.Nodes)
	if err := a.planes.Repoint(ctx); err != nil { // a joining control plane gets the addresses in cluster-info
		return err
	}
	if err := a.planes.ShareAddress(ctx, a.planes.Stay); err != nil { // also after an attempt that was interrupted
		return err
	}
	if err := a.planes.Publish(ctx); err != nil {
		return err
	}
	if err := a.planes.UseServers(ctx, a.part(serversFrom, proxiesFrom)); err != nil {
		return err
	}
	a.progress.Set(proxiesFrom, "Update the proxies of the workers")
	if err := controlplane.UpdateProxies(ctx, a.in, a.access(), a.ports, a.part(proxiesFrom, membersFrom)); err != nil {
		return err
	}
	a.progress.Set(membersFrom, "Wait for etcd")
	return controlplane.AwaitMembers(ctx, a.in, a.access(), a.ports)
}
