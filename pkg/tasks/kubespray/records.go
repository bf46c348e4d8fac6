package kubespray

import (
	"context"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/remove"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/operate/upgrade"
)

// Records are what the task stores about a cluster and its machines. They are exported for a test that plays runs
// without machines: it decides when a run writes, and the code of the task decides what.
type Records struct {
	store     session.Store
	installed *session.ClusterRecord
	record    *session.HostRecord
}

// ReadRecords reads the records from the ConfigMap of Ports.Installed.
func ReadRecords(ctx context.Context, store session.Store) (*Records, error) {
	states, err := session.ReadHostRecord(ctx, store, nil)
	if err != nil {
		return nil, err
	}
	members, err := session.ReadClusterRecord(ctx, store)
	if err != nil {
		return nil, err
	}
	return &Records{store: store, installed: members, record: states}, states.Begin(ctx)
}

// Installed returns the record of the cluster; false: there is none.
func (r *Records) Installed() (contract.Installed, bool) {
	return r.installed.Now, r.installed.Text != ""
}

// Rebuild makes the record from the members of the request if there is none.
func (r *Records) Rebuild(ctx context.Context, request contract.Request) error {
	return r.installed.Rebuild(ctx, request)
}

// Change changes the record of the cluster.
func (r *Records) Change(ctx context.Context, change func(next *contract.Installed)) error {
	return r.installed.Change(ctx, change)
}

// Complete stores that the cluster is healthy after a run with these nodes.
func (r *Records) Complete(ctx context.Context, request contract.Request, nodes []contract.Node) error {
	if err := session.StoreComplete(ctx, r.store, true); err != nil {
		return err
	}
	return r.installed.Complete(ctx, request, nodes)
}

// SetHosts stores the state of the hosts of these nodes.
func (r *Records) SetHosts(ctx context.Context, state contract.HostState, nodes ...contract.Node) error {
	return r.record.Set(ctx, state, session.HostUIDs(nodes)...)
}

// Fresh returns those of the nodes that a playbook has to install.
func (r *Records) Fresh(ctx context.Context, request contract.Request, nodes []contract.Node) (fresh []contract.Node, err error) {
	in := session.Input{Request: request, Nodes: nodes}
	joined, err := session.ReadJoined(ctx, in, r.store, r.installed)
	c := session.Contact{States: r.record.Snapshot()}
	for _, n := range nodes {
		if !c.HasJoined(in, n, joined) {
			fresh = append(fresh, n)
		}
	}
	return fresh, err
}

// Join stores that a playbook has succeeded on the machines of these nodes, which are all nodes of the run.
func (r *Records) Join(ctx context.Context, nodes []contract.Node) error {
	return session.StoreJoined(ctx, r.store, session.HostUIDs(nodes))
}

// Nodes returns the nodes of the record, and those of the run that leave.
func (r *Records) Nodes(listed []contract.Node, leave []string) []contract.Node {
	return session.MergeNodes(r.installed.Now.Nodes, listed, leave)
}

// Leave takes the nodes that leave out of the record, except those with an error.
func (r *Records) Leave(ctx context.Context, leave []contract.Node, errs []error) error {
	return remove.Strike(ctx, r.store, r.installed, leave, errs)
}

// Upgrade returns the records of a run that upgrades nodes, or that applies variables.
func (r *Records) Upgrade(ctx context.Context, request contract.Request) (*upgrade.Records, error) {
	return upgrade.ReadRecords(ctx, r.store, r.installed, request)
}
