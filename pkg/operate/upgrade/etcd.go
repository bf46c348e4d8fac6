package upgrade

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/controlplane"
	"github.com/akraino-icn/bpa/pkg/operate/play"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/etcd"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// firstSafe is the first version of etcd 3.5 from which etcd 3.6 may follow. Etcd 3.6 reads its
// members from another place than 3.5. In older versions of 3.5 this place can have members that were
// removed long ago. They return with 3.6, and etcd has no majority then. Versions from 3.5.26 correct
// the place when they start. Source: https://etcd.io/blog/2025/zombie_members_upgrade/
const firstSafe = "3.5.26"

// secureEtcd refuses an unsafe version of etcd before a control plane node is upgraded. save saves the
// content of etcd before the first control plane node gets the version and the variables of the request.
// It is called after the drain, so that attempts whose drain is blocked leave no snapshots. For workers,
// or if no playbook runs, both do nothing.
func (u *upgrader) secureEtcd(ctx context.Context) (save func(context.Context) error, err error) {
	nothing := func(context.Context) error { return nil }
	planes := node.ControlPlanes(u.behind)
	if len(planes) == 0 {
		return nothing, nil
	}
	var via etcd.Client
	var running []endpoint
	err = u.onEtcd(ctx, func(e etcd.Client) (err error) {
		if running, err = statusOf(e); err != nil {
			return err
		}
		if !slices.ContainsFunc(running, func(m endpoint) bool { return m.at(e.Via) }) {
			return fmt.Errorf("the member of etcd on %s does not answer: %w", e.Via.Name, etcd.ErrNone) // another one is asked
		}
		via = e
		return nil
	})
	if err != nil {
		return nil, &task.Error{Reason: contract.ReasonQuorumAtRisk, Host: planes[0].Name, Step: "check etcd",
			Err: fmt.Errorf("etcd cannot be saved before the upgrade: %w. Nothing was changed. The next attempt continues", err)}
	}
	if err := u.checkEtcd(ctx, running); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(node.ControlPlanes(u.in.Nodes), func(n contract.Node) bool { return u.atLevel(n.Name) }) {
		return nothing, nil
	}
	return func(ctx context.Context) error {
		if u.saved(ctx) {
			return nil
		}
		return u.saveEtcd(ctx, via, running)
	}, nil
}

// endpoint is the status of a member of etcd.
type endpoint struct {
	Endpoint string
	Status   struct {
		Version string
		DBSize  int64
	}
}

func (e endpoint) at(n contract.Node) bool {
	return controlplane.Loopback(e.Endpoint) || etcd.AtAddress(e.Endpoint, []string{n.Address, n.Address6})
}

// statusOf returns the status of the members that answer.
func statusOf(e etcd.Client) (all []endpoint, err error) {
	if err := e.Run("endpoint status --cluster", &all); err != nil && len(all) == 0 { // it also fails if one member does not answer
		return nil, fmt.Errorf("ask the members of etcd on %s for their versions: %w", e.Via.Name, err)
	}
	return all, nil
}

// checkEtcd refuses an upgrade that would replace a member of etcd with an older version, which may not be
// able to read its data, or an etcd older than firstSafe with etcd 3.6 or later.
func (u *upgrader) checkEtcd(ctx context.Context, running []endpoint) error {
	oldest, newest := "", version.MustParseSemantic("0.0.0")
	for _, m := range running {
		v, err := version.ParseSemantic(m.Status.Version)
		if err != nil {
			return &task.Error{Reason: contract.ReasonInternal, Step: "check etcd", Err: fmt.Errorf("etcd reports the version %q: %w", m.Status.Version, err)}
		}
		if v.LessThan(version.MustParseSemantic(firstSafe)) {
			oldest = v.String()
		}
		if newest.LessThan(v) {
			newest = v
		}
	}
	target, err := u.etcdOf(ctx)
	if err != nil {
		return task.Because(contract.ReasonPlaybookFailed, fmt.Errorf("find the version of etcd that the playbook installs: %w. Nothing was changed", err))
	}
	if target.LessThan(newest) {
		return &task.Error{Reason: contract.ReasonInvalidRequest, Host: u.batch[0].Name, Step: "check etcd",
			Err: fmt.Errorf("the cluster has etcd %s, and the upgrade would install the older etcd %s, which may not be able to read the data. Nothing was changed. "+
				"Set etcd_version in spec.kubespray.vars to %[1]s or a newer version", newest, target)}
	}
	if oldest == "" || target.LessThan(version.MustParseSemantic("3.6.0")) {
		return nil
	}
	return &task.Error{Reason: contract.ReasonInvalidRequest, Host: u.batch[0].Name, Step: "check etcd",
		Err: fmt.Errorf("the cluster has etcd %s, and the upgrade to Kubernetes %s would install etcd %s. From a version before %s this can bring back members of etcd that were "+
			"removed long ago, and stop the cluster. Nothing was changed. First update etcd: set etcd_version to %s or a later 3.5 in spec.kubespray.vars, and keep the Kubernetes version %s until this is done",
			oldest, u.in.Request.KubernetesVersion, target, firstSafe, firstSafe, u.in.Request.Upgrade.From)}
}

// etcdPlay prints the version of etcd that the playbooks install. It changes no host.
//
//go:embed etcd-version.yml
var etcdPlay string

// etcdOf returns the version of etcd that the playbook installs. It evaluates the variables of the
// playbooks, because their defaults depend on the version of Kubernetes.
func (u *upgrader) etcdOf(ctx context.Context) (*version.Version, error) {
	in := u.limited()
	result := filepath.Join(in.ScratchDir, "etcd-version")
	in.Limit, in.ExtraVars = nil, map[string]any{
		"ansible_connection": "local", "ansible_become": false, "ansible_python_interpreter": "{{ ansible_playbook_python }}", "bpa_result": result,
		"ansible_remote_tmp": filepath.Join(in.ScratchDir, "local"), // the task's home folder is read-only
	}
	files, err := play.Prepare(in, u.c.Pins)
	if err != nil {
		return nil, err
	}
	role := "defaults" // of the stand-in
	if play.Exists(filepath.Join(in.PlaybooksDir, "roles", "kubespray_defaults")) {
		role = "kubespray_defaults"
	}
	in.Playbook = filepath.Join(in.ScratchDir, "etcd-version.yml")
	if err := play.WriteFile(in.Playbook, []byte(strings.ReplaceAll(etcdPlay, "DEFAULTS", role)), 0o600); err != nil {
		return nil, err
	}
	var stderr bytes.Buffer
	status, err := u.ports.Playbook(ctx, play.Command(in, files), io.Discard, &stderr)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return nil, err
	}
	if status != 0 {
		return nil, fmt.Errorf("ansible-playbook ended with status %d: %s", status, session.Printable(task.Cut(stderr.String(), 300)))
	}
	text, err := os.ReadFile(result)
	if err != nil {
		return nil, err
	}
	return version.ParseSemantic(strings.TrimSpace(string(text)))
}
