package kubespray

import (
	"context"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// limited returns the input of the playbook. The batch of the run is one batch of kubespray. BPA has
// cordoned and drained the nodes, and kubespray neither drains nor uncordons a node that is cordoned
// already, unless upgrade_node_always_cordon is set. Nobody could answer its questions.
func (u *upgrader) limited() Input {
	in := u.in
	in.limit = namesOf(u.batch)
	in.extra = map[string]any{
		"serial": "100%", "upgrade_node_always_cordon": false, "upgrade_node_confirm": false, "upgrade_node_post_upgrade_confirm": false,
	}
	if _, own := in.Request.Vars[refreshCertificates]; !own { // otherwise the members of etcd restart once more for new certificates
		in.extra[refreshCertificates] = false
	}
	return in
}

// play marks the nodes of the batch as half changed, and runs the playbook on them.
func (u *upgrader) play(ctx context.Context) error {
	in := u.limited()
	counted := count(in)
	files, err := prepare(in, u.c.pins)
	if err != nil {
		return task.Because(contract.ReasonInternal, err)
	}
	err = u.members.change(ctx, func(next *contract.Installed) {
		target := &contract.Target{Version: in.Request.KubernetesVersion, Settings: in.Request.Settings()}
		for i := range next.Nodes {
			if named(u.batch, next.Nodes[i].Name) {
				next.Nodes[i].Target = target
			}
		}
	})
	if err != nil {
		return err
	}
	_, err = play(ctx, in, files, u.ports, func(percent int, step string) {
		u.progress.set(upgradeFrom+percent*(checkFrom-upgradeFrom)/100, step)
	}, counted)
	return err
}

func (u *upgrader) drainer() drainer {
	return drainer{w: u.w, members: u.members, ports: u.ports, limit: time.Duration(u.in.Request.Upgrade.DrainSeconds) * time.Second, stays: true, dead: u.dead,
		report: func(done float64, step string) { u.progress.set(evictFrom+int((upgradeFrom-evictFrom)*done), step) }}
}
