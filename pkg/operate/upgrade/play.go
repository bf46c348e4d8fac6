package upgrade

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/cluster"
	"github.com/akraino-icn/bpa/pkg/operate/controlplane"
	"github.com/akraino-icn/bpa/pkg/operate/play"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// limited returns the input of the playbook. The batch of the run is one batch of kubespray. BPA has
// cordoned and drained the nodes, and kubespray neither drains nor uncordons a node that is cordoned
// already, unless upgrade_node_always_cordon is set. Nobody could answer its questions.
func (u *upgrader) limited() session.Input {
	in := u.in
	in.Limit = session.Names(u.batch)
	in.ExtraVars = map[string]any{
		"serial": "100%", "upgrade_node_always_cordon": false, "upgrade_node_confirm": false, "upgrade_node_post_upgrade_confirm": false,
	}
	if !in.Request.SetsVar(controlplane.RefreshCertificates) { // otherwise the members of etcd restart once more for new certificates
		in.ExtraVars[controlplane.RefreshCertificates] = false
	}
	if errs := ignoredErrors(in.Request); errs != nil {
		in.ExtraVars[ignoreErrors] = errs
	}
	return in
}

// ignoreErrors is the variable with the checks of kubeadm whose errors do not count.
const ignoreErrors = "kubeadm_ignore_preflight_errors"

// ignoredErrors returns the value of ignoreErrors for an upgrade; nil: that of the user stays. kubeadm upgrades no CoreDNS,
// because kubespray does, but it refuses to upgrade anything if it does not know the version of CoreDNS
// (coredns_version). A user who has given CoreDNS back to kubeadm needs these checks.
func ignoredErrors(r contract.Request) []string {
	if r.SetsVar("kubeadm_init_phases_skip") || r.SetsVar("kubeadm_init_phases_skip_default") {
		return nil
	}
	value, set := r.Vars[ignoreErrors]
	if !set {
		if _, secret := r.SecretVars[ignoreErrors]; secret {
			return nil
		}
		value, set = r.PluginVars[ignoreErrors]
	}
	var all []string
	if set && json.Unmarshal(value, &all) != nil || slices.Contains(all, "all") { // kubeadm accepts no other name beside all
		return nil
	}
	for _, check := range []string{"CoreDNSUnsupportedPlugins", "CoreDNSMigration"} {
		if !slices.Contains(all, check) {
			all = append(all, check)
		}
	}
	return all
}

// play runs the playbook on the nodes of the batch that need it. It marks them as half changed first.
func (u *upgrader) play(ctx context.Context) error {
	if len(u.behind) == 0 {
		return nil
	}
	in := u.limited()
	in.Limit = session.Names(u.behind)
	counted := play.CountTasks(in)
	files, err := play.Prepare(in, u.c.Pins)
	if err != nil {
		return task.Because(contract.ReasonInternal, err)
	}
	err = u.begin(ctx, u.behind, func(n contract.Node, t *contract.Target) {
		t.Version, t.Settings, t.Variables = in.Request.KubernetesVersion, in.Request.SettingsOf(n), nil
	})
	if err != nil {
		return err
	}
	if err := controlplane.FillEtcdClients(ctx, in, u.key, u.c.Pins, u.ports); err != nil {
		return err
	}
	_, err = play.Run(ctx, in, files, u.ports, func(percent int, step string) {
		u.progress.Set(upgradeFrom+percent*(checkFrom-upgradeFrom)/100, step)
	}, counted)
	if err != nil {
		return err
	}
	return controlplane.RemoveEtcdClients(ctx, in, u.key, u.c.Pins, u.behind, u.ports)
}

func (u *upgrader) drainer() cluster.Drainer {
	return cluster.Drainer{Client: u.w, Members: u.members, Ports: u.ports, Limit: time.Duration(u.in.Request.Upgrade.DrainSeconds) * time.Second, Stays: true, Dead: u.dead,
		Begins: time.Duration(u.in.Request.Upgrade.DrainsSeconds) * time.Second,
		Report: func(done float64, step string) { u.progress.Set(evictFrom+int((upgradeFrom-evictFrom)*done), step) }}
}
