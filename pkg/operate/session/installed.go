package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/inventory"
	"github.com/akraino-icn/bpa/pkg/tasks/kube"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// ClusterRecord stores the record of the cluster (contract.Installed).
type ClusterRecord struct {
	store Store
	Now   contract.Installed // the record as it is now; change it with Change
	Text  string             // the record as it is stored; empty: it does not exist
	// SettingsAfter is Input.SettingsAfter, for Complete.
	SettingsAfter string
}

// ReadClusterRecord reads the record of the cluster. It does not exist before the first installation is
// complete, nor if somebody has deleted it.
func ReadClusterRecord(ctx context.Context, store Store) (*ClusterRecord, error) {
	text, err := store.Get(ctx, contract.KeyInstalled)
	if err != nil {
		return nil, task.Because(kube.Reason(err), err)
	}
	i := &ClusterRecord{store: store, Text: text}
	if text == "" {
		return i, nil
	}
	if err := json.Unmarshal([]byte(text), &i.Now); err != nil {
		return nil, task.Because(contract.ReasonInvalidRequest, fmt.Errorf("read %s: %w", contract.KeyInstalled, err))
	}
	return i, nil
}

// Rebuild stores the record from the request if it does not exist. Later attempts need it: their
// request still has the nodes that have left in the meantime.
func (i *ClusterRecord) Rebuild(ctx context.Context, request contract.Request) error {
	if i.Text != "" {
		return nil
	}
	if len(request.Members) == 0 {
		return task.Because(contract.ReasonInvalidRequest, errors.New("it is not known which nodes the cluster has, so none is changed: "+
			contract.KeyInstalled+" does not exist, and the request has no members"))
	}
	return i.Change(ctx, func(next *contract.Installed) {
		*next = contract.Installed{Request: Lasting(request), Nodes: request.Members, EtcdNext: request.EtcdNext, Patched: request.Patched}
	})
}

// Change changes the record and stores it, unless it stays the same.
func (i *ClusterRecord) Change(ctx context.Context, change func(next *contract.Installed)) error {
	next := i.Now
	next.Nodes, next.Draining, next.Leaving = slices.Clone(next.Nodes), slices.Clone(next.Draining), slices.Clone(next.Leaving)
	change(&next)
	text, err := json.Marshal(next)
	if err != nil {
		return task.Because(contract.ReasonInternal, err)
	}
	if string(text) == i.Text {
		return nil
	}
	if err := i.store.Set(ctx, contract.KeyInstalled, string(text)); err != nil {
		return task.Because(kube.Reason(err), err)
	}
	i.Now, i.Text = next, string(text)
	return nil
}

// Complete stores the record after a run that has made the cluster healthy. nodes are the nodes
// of the run. Two kinds of other nodes stay in the record: those that are being removed, until they
// have left, and lost ones that this run neither replaces nor removes. If the run has added members to
// etcd, such a lost one is no member any more (see package join).
func (i *ClusterRecord) Complete(ctx context.Context, request contract.Request, nodes []contract.Node) error {
	ordered, etcdNext := inventory.Members(request, nodes)
	joined := Joining(FormerControlPlanes(request), ordered)
	return i.Change(ctx, func(next *contract.Installed) {
		if len(next.Nodes) == 0 { // the first installation
			next.Patched = request.Patched
		}
		adds := request.Remove == nil && contract.OperationOf(request.Operation).ChangesCluster()
		for _, n := range next.Stamped(request) {
			stays := slices.Contains(next.Leaving, n.Name) || slices.Contains(request.Kept, n.Name) || adds && !slices.Contains(request.Gone(), n.Name)
			if slices.Contains(request.Kept, n.Name) && len(joined) > 0 {
				n.Etcd = ""
			}
			if stays && !HasName(ordered, n.Name) {
				ordered = append(ordered, n)
			}
		}
		slices.SortStableFunc(ordered, func(a, b contract.Node) int { return cmp.Compare(RoleRank(a), RoleRank(b)) })
		contract.CopyTargets(ordered, next.Nodes, request.Renewed())
		next.Request, next.Nodes, next.EtcdNext = Lasting(request), ordered, max(etcdNext, next.EtcdNext)
		next.SettlePatched()
		if request.Restore != nil {
			next.SetRestored(request.Restore.Asked)
			for i := range next.Nodes { // the restored etcd has no member on a control plane that is lost and stays in the record
				if !HasName(nodes, next.Nodes[i].Name) {
					next.Nodes[i].Etcd = ""
				}
			}
			for n := range next.Nodes {
				if i.SettingsAfter != "" && HasHost(node.ControlPlanes(nodes), next.Nodes[n]) {
					next.Nodes[n].Settings = i.SettingsAfter
				}
			}
			for _, name := range Names(node.ControlPlanes(nodes)) { // one that was half removed is whole again, but may be cordoned
				if slices.Contains(next.Leaving, name) {
					next.Leaving, next.Draining = Without(next.Leaving, []string{name}), With(next.Draining, []string{name})
				}
			}
		}
		gone := func(name string) bool { return !HasName(ordered, name) }
		next.Draining, next.Leaving = slices.DeleteFunc(next.Draining, gone), slices.DeleteFunc(next.Leaving, gone)
	})
}

// Lasting returns what the record keeps of the request of a run.
func Lasting(r contract.Request) contract.Spec {
	r.Patched = "" // it is that of contract.Installed
	return r.Spec
}
