package upgrade

import (
	"context"
	"errors"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/kube"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// ReadRecords returns the records of a run that upgrades nodes, or that applies variables. members is the record
// of the cluster in the store. It fails if the request does not say which nodes are upgraded.
func ReadRecords(ctx context.Context, store session.Store, members *session.ClusterRecord, request contract.Request) (*Records, error) {
	u := &upgrader{in: session.Input{Request: request}, members: members, ports: session.Ports{Installed: store}}
	if request.Upgrade == nil {
		return nil, task.Because(contract.ReasonInvalidRequest, errors.New("the request does not say which nodes are upgraded"))
	}
	if err := u.members.Rebuild(ctx, u.before()); err != nil {
		return nil, task.Because(kube.Reason(err), err)
	}
	records := &Records{u: u, configures: &configurer{upgrader: u}}
	if request.Upgrade.Narrow != nil {
		records.configures.narrow = *request.Upgrade.Narrow
	}
	return records, nil
}

// Records are what a run that upgrades nodes, or that applies variables, writes about the cluster. They are exported
// for a test that plays runs without machines.
type Records struct {
	u          *upgrader
	configures *configurer
}

// Left reports whether something is left to do on a node.
func (u *Records) Left(name string) bool { return !u.u.upgraded(name) }

// Begin stores that a playbook, a patch or both begin to change this node.
func (u *Records) Begin(ctx context.Context, node contract.Node) error {
	request := u.u.in.Request
	return u.u.begin(ctx, []contract.Node{node}, func(n contract.Node, t *contract.Target) {
		if !u.u.atLevel(node.Name) {
			t.Version, t.Settings, t.Variables = request.KubernetesVersion, request.SettingsOf(n), nil
		}
		if !u.u.atPatch(node.Name) {
			t.Patch = request.Upgrade.Patch
		}
	})
}

// Mark stores that a node is upgraded, and Complete that the whole cluster is healthy.
func (u *Records) Mark(ctx context.Context, name string) error {
	return u.u.mark(ctx, []string{name})
}

func (u *Records) Complete(ctx context.Context) error { return u.u.complete(ctx) }

// BeginAll and CompleteAll are Begin and Complete of a run that applies variables.
func (u *Records) BeginAll(ctx context.Context) error { return u.configures.begin(ctx) }

func (u *Records) CompleteAll(ctx context.Context) error { return u.configures.complete(ctx) }
