package kubespray

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// firstSafe is the first version of etcd 3.5 from which etcd 3.6 may follow. Etcd 3.6 reads its
// members from another place than 3.5. In older versions of 3.5 this place can have members that were
// removed long ago. They return with 3.6, and etcd has no majority then. Versions from 3.5.26 correct
// the place when they start. Source: https://etcd.io/blog/2025/zombie_members_upgrade/
const firstSafe = "3.5.26"

// secureEtcd refuses an unsafe version of etcd, and saves the content of etcd. It does this before the
// first control plane node gets the version and the variables of the request. It does nothing for
// workers.
func (u *upgrader) secureEtcd(ctx context.Context) error {
	planes := node.ControlPlanes(u.batch)
	if len(planes) == 0 || slices.ContainsFunc(node.ControlPlanes(u.in.Nodes), func(n contract.Node) bool { return u.upgraded(n.Name) }) {
		return nil
	}
	var via etcdClient
	var running []endpoint
	err := u.onEtcd(ctx, func(e etcdClient) (err error) {
		if running, err = e.status(); err != nil {
			return err
		}
		if !slices.ContainsFunc(running, func(m endpoint) bool { return m.at(e.via) }) {
			return fmt.Errorf("the member of etcd on %s does not answer: %w", e.via.Name, errNoEtcd) // another one is asked
		}
		via = e
		return nil
	})
	if err != nil {
		return &task.Error{Reason: contract.ReasonQuorumAtRisk, Host: planes[0].Name, Step: "check etcd",
			Err: fmt.Errorf("etcd cannot be saved before the upgrade: %w. Nothing was changed. The next attempt continues", err)}
	}
	if err := u.checkEtcd(ctx, running); err != nil {
		return err
	}
	return u.saveEtcd(ctx, via, running)
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
	return loopback(e.Endpoint) || atAddress(e.Endpoint, []string{n.Address, n.Address6})
}

// status returns the status of the members that answer.
func (e etcdClient) status() (all []endpoint, err error) {
	if err := e.run("endpoint status --cluster", &all); err != nil && len(all) == 0 { // it also fails if one member does not answer
		return nil, fmt.Errorf("ask the members of etcd on %s for their versions: %w", e.via.Name, err)
	}
	return all, nil
}

// checkEtcd refuses an upgrade that would replace an etcd older than firstSafe with etcd 3.6 or later.
func (u *upgrader) checkEtcd(ctx context.Context, running []endpoint) error {
	oldest := ""
	for _, m := range running {
		v, err := version.ParseSemantic(m.Status.Version)
		if err != nil {
			return &task.Error{Reason: contract.ReasonInternal, Step: "check etcd", Err: fmt.Errorf("etcd reports the version %q: %w", m.Status.Version, err)}
		}
		if v.LessThan(version.MustParseSemantic(firstSafe)) {
			oldest = v.String()
		}
	}
	if oldest == "" {
		return nil
	}
	target, err := u.etcdOf(ctx)
	if err != nil {
		return task.Because(contract.ReasonPlaybookFailed, fmt.Errorf("find the version of etcd that the playbook installs: %w. Nothing was changed", err))
	}
	if target.LessThan(version.MustParseSemantic("3.6.0")) {
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
	in.limit, in.extra = nil, map[string]any{
		"ansible_connection": "local", "ansible_become": false, "ansible_python_interpreter": "{{ ansible_playbook_python }}", "bpa_result": result,
	}
	files, err := prepare(in, u.c.pins)
	if err != nil {
		return nil, err
	}
	role := "defaults" // of the stand-in
	if exists(filepath.Join(in.PlaybooksDir, "roles", "kubespray_defaults")) {
		role = "kubespray_defaults"
	}
	in.Playbook = filepath.Join(in.ScratchDir, "etcd-version.yml")
	if err := write(in.Playbook, []byte(strings.ReplaceAll(etcdPlay, "DEFAULTS", role)), 0o600); err != nil {
		return nil, err
	}
	var stderr bytes.Buffer
	status, err := u.ports.Playbook(ctx, command(in, files), io.Discard, &stderr)
	if err != nil || status != 0 {
		return nil, fmt.Errorf("ansible-playbook ended with status %d: %s: %w", status, printable(task.Cut(stderr.String(), 300)), errors.Join(err, ctx.Err()))
	}
	text, err := os.ReadFile(result)
	if err != nil {
		return nil, err
	}
	return version.ParseSemantic(strings.TrimSpace(string(text)))
}

var (
	versionPattern = regexp.MustCompile(`^[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}$`)
	dataDirPattern = regexp.MustCompile(`^(/[A-Za-z0-9_][A-Za-z0-9._-]*)+$`)
)

const (
	// snapshotFolder has the snapshots of etcd. Only root can read it: a snapshot contains all Secrets.
	snapshotFolder = "/var/backups/bpa"
	// snapshotSpare is the space in KiB that must be left on the disk after a snapshot.
	snapshotSpare = 1 << 20
)

// snapshotScript saves the content of etcd. The last 32 bytes of a snapshot are the SHA-256 of the
// others. A program for this check (etcdctl snapshot status, later etcdutl) is not on every control
// plane. The arguments are the folder, the folder to which etcdctl can write, the space in KiB that
// must be free, the versions, etcdctl, and the file that etcdctl writes.
const snapshotScript = `set -eu; umask 077; d=%[1]s; w=%[2]s
mkdir -p "$d"; chmod 0700 "$d"; rm -f "$d"/*.part "$w"/bpa-snapshot.db "$w"/bpa-snapshot.db.part
for at in "$d" "$w"; do
  free="$(df -Pk "$at" | awk "NR==2 {print \$4}")"
  [ "$free" -ge %[3]d ] || { echo "only $free KiB are free in $at, and a snapshot of etcd needs %[3]d KiB" >&2; exit 1; }
done
f="$d/etcd-%[4]s-to-%[5]s-$(date -u +%%Y%%m%%dT%%H%%M%%SZ).db"
%[6]s snapshot save "$w"/bpa-snapshot.db >/dev/null
mv "$w"/bpa-snapshot.db "$f.part"; chmod 0600 "$f.part"
want="$(tail -c 32 "$f.part" | od -An -v -tx1 | tr -d " \n")"
have="$(head -c -32 "$f.part" | sha256sum | cut -d " " -f 1)"
[ "$want" = "$have" ] || { echo "the snapshot is damaged: its checksum is wrong" >&2; exit 1; }
sync "$f.part"; mv "$f.part" "$f"; sync "$d"
ls -1t "$d"/etcd-*.db | tail -n +4 | while read -r old; do rm -f "$old"; done
echo "$f"
`

// saveEtcd saves a snapshot of etcd on the control plane node of the client, and keeps the last three
// there.
func (u *upgrader) saveEtcd(ctx context.Context, via etcdClient, running []endpoint) error {
	u.progress.set(snapshotFrom+1, "Save a snapshot of etcd on "+via.via.Name)
	folder := snapshotFolder
	if via.inPod { // the pod sees no folder of the machine but that of the data
		var err error
		if folder, err = u.dataDir(); err != nil {
			return err
		}
	}
	var size int64
	for _, m := range running {
		size = max(size, m.Status.DBSize)
	}
	p := planes{in: u.in, access: u.w.access, ports: u.ports}
	script := fmt.Sprintf(snapshotScript, snapshotFolder, folder, size>>10+snapshotSpare, u.in.Request.Upgrade.From, u.in.Request.KubernetesVersion, strings.TrimSpace(via.command))
	file, err := p.must(ctx, via.via, "save a snapshot of etcd", script)
	if err != nil {
		var known *task.Error
		if errors.As(err, &known) {
			known.Err = fmt.Errorf("%w. No node was changed. The next attempt continues", known.Err)
		}
		return err
	}
	fmt.Fprintf(u.ports.Log, "A snapshot of etcd before the upgrade is on %s: %s\n", via.via.Name, printable(strings.TrimSpace(file)))
	return nil
}

// dataDir returns the folder of etcd's data on the control plane nodes.
func (u *upgrader) dataDir() (string, error) {
	var vars struct {
		Dir *string `json:"etcd_data_dir"`
	}
	if err := json.Unmarshal(u.in.GroupVars, &vars); err != nil || vars.Dir == nil {
		return "/var/lib/etcd", nil
	}
	if !dataDirPattern.MatchString(*vars.Dir) {
		return "", task.Because(contract.ReasonInvalidRequest, fmt.Errorf("variable etcd_data_dir is %q, which is not the path of a folder without special characters", *vars.Dir))
	}
	return *vars.Dir, nil
}
