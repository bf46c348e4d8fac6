package restore

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/cluster"
	"github.com/akraino-icn/bpa/pkg/operate/controlplane"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/etcd"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// leastBump is the least number by which a restore raises etcd's revision, if the clock of this machine is wrong.
const leastBump = 1_000_000_000

// revisionBump returns what is added to the revision of the backup, so that etcd's revision becomes the present time in
// microseconds. All revisions before it count as compacted. Clients that know a revision of the cluster before the restore
// would otherwise wait for the next one, and miss all changes until then: kube-proxy would send no request to a new pod. The time
// is later than any revision, also than those of earlier restores from the same backup: no etcd makes a million changes a second.
func revisionBump(now time.Time, backup int64) int64 {
	return max(now.UnixMicro()-backup, leastBump)
}

var (
	memberName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$`)
	peerURL    = regexp.MustCompile(`^https://[0-9A-Fa-f.:\[\]]+:[0-9]{1,5}$`)
)

// place is a member of etcd and the control plane on which it runs.
type place struct {
	node   contract.Node
	member etcd.Member
}

// placesOf returns the members of etcd with their control planes. The result is safe in a script.
func placesOf(members []etcd.Member, planes []contract.Node) ([]place, error) {
	var all []place
	for _, m := range members {
		i := slices.IndexFunc(planes, func(n contract.Node) bool { return m.At(n.Address, n.Address6) })
		if i < 0 || !memberName.MatchString(m.Name) || len(m.PeerURLs) != 1 || !peerURL.MatchString(m.PeerURLs[0]) {
			return nil, fmt.Errorf("member %q of etcd at %s is not on a control plane of this run", session.Printable(m.Name), session.Printable(fmt.Sprint(m.PeerURLs)))
		}
		all = append(all, place{planes[i], m})
	}
	if len(all) == 0 {
		return nil, errors.New("etcd has no members")
	}
	return all, nil
}

// initialCluster returns the names and the URLs of all members, as etcd expects them.
func initialCluster(places []place) string {
	var all []string
	for _, p := range places {
		all = append(all, p.member.Name+"="+p.member.PeerURLs[0])
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

// workFolder is the folder below the data of etcd for the snapshot, the new data and the old ones. It is
// on the same file system, so that data can be moved, and in a folder that a pod of etcd sees.
const workFolder = "bpa-restore"

// prepareScript makes the folder for the restore, and puts the programs of etcd into it. etcd in a pod
// has them in its image, and the machine may have none. The arguments are the data folder, the work
// folder, the space in KiB that must be free, a file that exists if etcd runs on the machine, and the peer
// URL of the member.
const prepareScript = `set -eu; umask 077; PATH="$PATH:/usr/local/bin:/opt/bin"
d=%[1]s; w=%[2]s; rm -rf "$w"; mkdir "$w"
free="$(df -Pk "$d" | awk "NR==2 {print \$4}")"
[ "$free" -ge %[3]d ] || { echo "only $free KiB are free in $d, and the restore needs %[3]d KiB" >&2; exit 1; }
if [ -s %[4]s ]; then
  for p in etcdctl etcdutl; do ln -s "$(command -v $p)" "$w/$p" || { echo "the machine has no $p" >&2; exit 1; }; done
  echo host; exit 0
fi
for pid in /proc/[0-9]*; do
  grep -qszxF -e "--initial-advertise-peer-urls=%[5]s" "$pid/cmdline" || continue
  for p in etcdctl etcdutl; do
    [ -x "$pid/root/usr/local/bin/$p" ] || { echo "the image of etcd has no /usr/local/bin/$p" >&2; exit 1; }
    cp "$pid/root/usr/local/bin/$p" "$w/$p"
  done
  echo pod; exit 0
done
echo "etcd does not run" >&2; exit 1
`

// receiveScript writes its input to the file of the snapshot. restoreScript makes the new data of a member
// from it. etcdutl compares the checksum that the snapshot has. The arguments are the data folder, the work
// folder, and the options of etcdutl.
const (
	receiveScript = `set -eu; umask 077; cat >%[2]s/snapshot.db`
	restoreScript = `set -eu; umask 077; d=%[1]s; w=%[2]s; rm -rf "$w/data"
"$w/etcdutl" snapshot restore "$w/snapshot.db" --data-dir "$w/data" %[3]s >"$w/log" 2>&1 || { tail -c 1500 "$w/log" >&2; exit 1; }
rm -f "$w/snapshot.db"; chown -R --reference="$d/member" "$w/data"; chmod --reference="$d/member" "$w/data/member"; sync
`
)

// swapScript moves the new data into their place, and keeps the old ones.
const swapScript = `set -eu; d=%[1]s; w=%[2]s
[ -d "$w/data/member" ] || exit 1
mv "$d/member" "$w/old"; mv "$w/data/member" "$d/member"; sync
`

// fill gives etcd the content of the backup. The new cluster works up to now; its content is lost.
func (r *restoration) fill(ctx context.Context) error {
	report := r.part(restoreEtcdFrom, restoreProxiesFrom)
	report(0, "Wait for etcd")
	if err := controlplane.AwaitMembers(ctx, r.in, r.access(), r.ports); err != nil {
		return err
	}
	places, err := r.places(ctx)
	if err != nil {
		return err
	}
	made, err := r.registered(ctx)
	if err != nil {
		return err
	}
	report(10, "Write the snapshot to the members of etcd")
	kinds, err := r.prepareMembers(ctx, places)
	if err != nil {
		return err
	}
	report(40, "Stop the control planes")
	if err := r.stop(ctx, places, kinds); err != nil {
		return err
	}
	report(60, "Start etcd with the content of the backup")
	if err := r.eachMember(ctx, "replace the data of etcd", places, func(ctx context.Context, p place, conn node.Connection) error {
		_, err := r.sh(ctx, conn, fmt.Sprintf(swapScript, r.dataDir, r.work()))
		return err
	}); err != nil {
		return err
	}
	if err := r.startEtcd(ctx, places, kinds); err != nil {
		return err
	}
	if err := r.revoke(ctx, places[0], kinds); err != nil {
		return err
	}
	report(75, "Start the API servers")
	return r.startServers(ctx, made)
}

func (r *restoration) work() string { return r.dataDir + "/" + workFolder }

// places returns the members of the new etcd.
func (r *restoration) places(ctx context.Context) (all []place, err error) {
	w := r.watch()
	defer w.Close()
	c := &cluster.View{Client: w, Ready: map[string]bool{}}
	for _, n := range r.planes {
		c.Ready[n.Name] = true // the question finds out which of them answer
	}
	err = c.OnEtcd(ctx, r.planes, func(e etcd.Client) error {
		members, healthy, err := e.Look()
		if err != nil {
			return err
		}
		if bad := controlplane.UnhealthyMembers(members, healthy); bad != "" {
			return errors.New(bad)
		}
		all, err = placesOf(members, r.planes)
		return err
	})
	if err != nil {
		return nil, &task.Error{Reason: contract.ReasonClusterUnhealthy, Host: r.planes[0].Name, Step: "list the members of etcd", Err: err}
	}
	return all, nil
}

// eachMember runs a step on the machines of all members of etcd.
func (r *restoration) eachMember(ctx context.Context, step string, places []place, do func(context.Context, place, node.Connection) error) error {
	return r.eachPlane(ctx, step, func(ctx context.Context, n contract.Node, conn node.Connection) error {
		i := slices.IndexFunc(places, func(p place) bool { return p.node.HostUID == n.HostUID })
		if i < 0 {
			return nil
		}
		return do(ctx, places[i], conn)
	})
}

// prepareMembers makes the new data of all members, while etcd still runs with the old ones. It returns
// how etcd runs on each control plane: "host" or "pod".
func (r *restoration) prepareMembers(ctx context.Context, places []place) (map[string]string, error) {
	found := make([]string, len(places))
	needed := 3*r.snapshotSize()>>10 + controlplane.SnapshotSpare
	bump := revisionBump(time.Now(), r.backup.Manifest.Revision) // the same one for all members
	err := r.eachMember(ctx, "restore the snapshot", places, func(ctx context.Context, p place, conn node.Connection) error {
		kind, err := r.sh(ctx, conn, fmt.Sprintf(prepareScript, r.dataDir, r.work(), needed, etcd.HostCertificates+"admin-"+p.node.Name+".pem", p.member.PeerURLs[0]))
		if err != nil {
			return err
		}
		found[slices.IndexFunc(places, func(o place) bool { return o.node.HostUID == p.node.HostUID })] = strings.TrimSpace(kind)
		if err := r.sendSnapshot(ctx, conn); err != nil {
			return err
		}
		options := fmt.Sprintf("--name %s --initial-cluster %s --initial-cluster-token %s --initial-advertise-peer-urls %s --bump-revision %d --mark-compacted",
			p.member.Name, initialCluster(places), r.token(), p.member.PeerURLs[0], bump)
		_, err = r.sh(ctx, conn, fmt.Sprintf(restoreScript, r.dataDir, r.work(), options))
		return err
	})
	kinds := map[string]string{}
	for i, p := range places {
		kinds[p.node.Name] = found[i]
		fmt.Fprintf(r.ports.Log, "  %-16s has the snapshot for member %s of etcd\n", p.node.Name, p.member.Name)
	}
	return kinds, err
}

// token returns a new name of the cluster for etcd. Members of another restore, and those of the old
// cluster, have another one and cannot join.
func (r *restoration) token() string {
	sum := sha256.Sum256([]byte(r.in.Request.UID + "\n" + r.in.Run + "\n" + r.in.Request.Restore.Asked))
	return fmt.Sprintf("bpa-%x", sum[:8])
}

// sendSnapshot reads the copy in the depot again and writes its snapshot to a machine.
func (r *restoration) sendSnapshot(ctx context.Context, conn node.Connection) error {
	out, in := io.Pipe()
	go func() {
		_, err := r.copy.read(ctx, in)
		in.CloseWithError(err) // nil means the end of the content
	}()
	defer out.CloseWithError(errors.New("the machine does not read the snapshot to its end"))
	script := fmt.Sprintf(receiveScript, r.dataDir, r.work())
	_, err := conn.Send(ctx, node.AsRoot(r.in.Request, "sh -c '"+script+"'"), out, 64<<10)
	return err
}
