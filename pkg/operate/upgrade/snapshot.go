package upgrade

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/controlplane"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/etcd"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

const (
	// snapshotFolder has the snapshots of etcd. Only root can read it: a snapshot contains all Secrets.
	snapshotFolder = "/var/backups/bpa"
)

// snapshotScript saves the content of etcd. The last 32 bytes of a snapshot are the SHA-256 of the
// others. A program for this check (etcdctl snapshot status, later etcdutl) is not on every control
// plane. The arguments are the folder, the folder to which etcdctl can write, the space in KiB that
// must be free, the hop, and etcdctl.
//
// Of each of the last three hops, the oldest and the newest snapshot stay: the oldest is from before the
// first attempt.
const snapshotScript = `set -eu; umask 077; d=%[1]s; w=%[2]s
mkdir -p "$d"; chmod 0700 "$d"; rm -f "$d"/*.part "$w"/bpa-snapshot.db "$w"/bpa-snapshot.db.part
for at in "$d" "$w"; do
  free="$(df -Pk "$at" | awk "NR==2 {print \$4}")"
  [ "$free" -ge %[3]d ] || { echo "only $free KiB are free in $at, and a snapshot of etcd needs %[3]d KiB" >&2; exit 1; }
done
f="$d/%[4]s-$(date -u +%%Y%%m%%dT%%H%%M%%SZ).db"
%[5]s snapshot save "$w"/bpa-snapshot.db >/dev/null
mv "$w"/bpa-snapshot.db "$f.part"; chmod 0600 "$f.part"
want="$(tail -c 32 "$f.part" | od -An -v -tx1 | tr -d " \n")"
have="$(head -c -32 "$f.part" | sha256sum | cut -d " " -f 1)"
[ "$want" = "$have" ] || { echo "the snapshot is damaged: its checksum is wrong" >&2; exit 1; }
sync "$f.part"; mv "$f.part" "$f"; sync "$d"
ls -1t "$d" | awk "/^etcd-.*[.]db\$/ {
  hop = \$0; sub(/-[^-]*[.]db\$/, \"\", hop)
  if (!(hop in at)) at[hop] = ++hops
  if (at[hop] > 3) print
  else if (seen[hop]++) { if (hop in older) print older[hop]; older[hop] = \$0 }
}" | while read -r old; do rm -f "$d/$old"; done
echo "$f"
`

// saveEtcd saves a snapshot of etcd on the control plane node of the client.
func (u *upgrader) saveEtcd(ctx context.Context, via etcd.Client, running []endpoint) error {
	u.progress.Set(snapshotFrom+1, "Save a snapshot of etcd on "+via.Via.Name)
	folder := snapshotFolder
	if via.InPod { // the pod sees no folder of the machine but that of the data
		var err error
		if folder, err = controlplane.EtcdDataDir(u.in); err != nil {
			return err
		}
	}
	var size int64
	for _, m := range running {
		size = max(size, m.Status.DBSize)
	}
	p := controlplane.Group{Input: u.in, Access: u.w.Access, Ports: u.ports}
	script := fmt.Sprintf(snapshotScript, snapshotFolder, folder, size>>10+controlplane.SnapshotSpare, u.hop(), strings.TrimSpace(via.Command))
	file, err := p.Must(ctx, via.Via, "save a snapshot of etcd", script)
	if err != nil {
		var known *task.Error
		if errors.As(err, &known) {
			known.Err = fmt.Errorf("%w. No node was changed. The next attempt continues", known.Err)
		}
		return err
	}
	fmt.Fprintf(u.ports.Log, "A snapshot of etcd before the upgrade is on %s: %s\n", via.Via.Name, session.Printable(strings.TrimSpace(file)))
	return nil
}

// hop returns the beginning of the names of the snapshots before this change of the control planes. Changes
// of variables without another version have a digest of the variables in it.
func (u *upgrader) hop() string {
	r := u.in.Request
	name := fmt.Sprintf("etcd-%s-to-%s", r.Upgrade.From, r.KubernetesVersion)
	if r.Upgrade.From == r.KubernetesVersion {
		name += fmt.Sprintf("-%x", sha256.Sum256([]byte(u.planeSettings())))[:9]
	}
	return name
}

// planeSettings returns what all control planes get: Request.Settings if none has variables of its own.
func (u *upgrader) planeSettings() string {
	all := u.in.Request.Settings()
	for _, n := range node.ControlPlanes(u.members.Now.Nodes) {
		if own := u.in.Request.SettingsOf(n); own != u.in.Request.Settings() {
			all += " " + n.Name + " " + own
		}
	}
	return all
}

// saved reports whether an earlier attempt has begun to change a control plane node, and has saved etcd
// before that. Another snapshot would not be from before the upgrade.
func (u *upgrader) saved(ctx context.Context) bool {
	begun := func(n contract.Node) bool {
		r := u.in.Request
		return n.Target != nil && n.Target.Version == r.KubernetesVersion && (r.Upgrade.From != r.KubernetesVersion || n.Target.Settings == r.SettingsOf(n))
	}
	if !slices.ContainsFunc(node.ControlPlanes(u.members.Now.Nodes), begun) {
		return false
	}
	p := controlplane.Group{Input: u.in, Access: u.w.Access, Ports: u.ports}
	for _, n := range node.ControlPlanes(u.in.Nodes) {
		file, err := p.Run(ctx, n, fmt.Sprintf(findSnapshot, snapshotFolder, u.hop()))
		if err != nil {
			fmt.Fprintf(u.ports.Log, "  look for a snapshot of etcd on %s: %v\n", n.Name, err)
			continue
		}
		if file = session.Printable(strings.TrimSpace(file)); file != "" {
			fmt.Fprintf(u.ports.Log, "The snapshot of etcd from before the first attempt is on %s: %s\n", n.Name, file)
			return true
		}
	}
	return false
}

// findSnapshot prints the oldest snapshot before a change. The arguments are the folder and the hop.
const findSnapshot = `set -eu; ls -1tr %[1]s 2>/dev/null | grep "^%[2]s-[0-9TZ]*[.]db\$" | head -n 1 | while read -r f; do echo "%[1]s/$f"; done
`
