package restore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/backup"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/inventory"
	"github.com/akraino-icn/bpa/pkg/operate/cluster"
	"github.com/akraino-icn/bpa/pkg/operate/controlplane"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/kube"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/playbook"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Progress of a restore in percent: where its parts begin.
const (
	restoreResetFrom, restorePlayFrom, restoreEtcdFrom, restoreProxiesFrom = 3, 10, 70, 88
)

// restoration gives an installed cluster the content of a backup.
type restoration struct {
	in       session.Input // with the nodes in their order
	key      ssh.Key
	ports    session.Ports
	progress *playbook.Progress
	members  *session.ClusterRecord
	c        session.Contact
	planes   []contract.Node // control planes that the run installs
	former   []contract.Node // control planes before the run
	copy     backupCopy
	backup   *backup.Open
	before   contract.Installed // the record of the cluster when the backup was made
	dataDir  string             // of etcd
	silent   []contract.Node    // control planes before the run that are not used again and do not answer
	filled   bool               // an earlier attempt has given etcd the content of a backup
	content  string             // see Input.SettingsAfter
	seen     map[string]sign    // of the kubelets, before they were restarted; nil: not read yet
}

// Run restores a backup and returns the recap. Its order keeps the cluster as it is until the
// backup is proved to be the right one and readable. After that, contract.Installed.Restoring says that
// the control planes may have parts of the restore, and every attempt begins by resetting them.
func Run(ctx context.Context, in session.Input, key ssh.Key, ports session.Ports, progress *playbook.Progress) (string, error) {
	r := &restoration{in: in, key: key, ports: ports, progress: progress}
	if err := r.plan(ctx); err != nil {
		return "", err
	}
	if r.members.Now.Restored == in.Request.Restore.Asked && r.members.Now.Restoring == "" {
		fmt.Fprintf(ports.Log, "Backup %s has been restored in an earlier attempt\n", session.Printable(in.Request.Restore.Backup))
		return "the backup was restored in an earlier attempt", r.close(ctx)
	}
	recap := "etcd has the content of the backup since an earlier attempt"
	done, err := r.marked(ctx)
	if err != nil {
		return "", err
	}
	if !done {
		if recap, err = r.replace(ctx); err != nil {
			return "", err
		}
	}
	if err := r.connect(ctx); err != nil {
		return "", err
	}
	if err := r.finish(ctx); err != nil {
		return "", err
	}
	if len(r.in.Silent) > 0 {
		recap += fmt.Sprintf("; these workers did not answer and are to be repaired or replaced: %s", strings.Join(r.in.Silent, ", "))
	}
	return recap, r.close(ctx)
}

// replace resets the control planes, installs them anew, and gives etcd the content of the backup.
func (r *restoration) replace(ctx context.Context) (recap string, err error) {
	if err := r.prove(ctx); err != nil {
		return "", err
	}
	absent, err := r.meet(ctx)
	if err != nil {
		return "", err
	}
	if err := r.checkMajority(ctx, absent); err != nil {
		return "", err
	}
	if err := r.checkFenced(ctx); err != nil {
		return "", err
	}
	if err := r.begin(ctx); err != nil {
		return "", err
	}
	r.workers(ctx, "systemctl stop kubelet")
	if err := r.reset(ctx, absent); err != nil {
		return "", err
	}
	if recap, err = r.install(ctx); err != nil {
		return "", err
	}
	if err := r.fill(ctx); err != nil {
		return "", err
	}
	return recap, r.store(ctx, contract.KeyRestored, r.mark()+"\n"+r.content)
}

// plan reads what is known about the cluster. It connects to no machine.
func (r *restoration) plan(ctx context.Context) (err error) {
	in := &r.in
	invalid := func(err error) error { return task.Because(contract.ReasonInvalidRequest, err) }
	if in.Request.Restore == nil || len(in.Request.Members) == 0 || in.Request.UID == "" {
		return invalid(errors.New("the request does not say which backup is to be restored, or which nodes the cluster has"))
	}
	if r.c, err = session.Recall(ctx, *in, r.ports); err != nil {
		return err
	}
	if r.members, err = session.ReadClusterRecord(ctx, r.ports.Installed); err != nil {
		return err
	}
	if r.dataDir, err = controlplane.EtcdDataDir(*in); err != nil {
		return err
	}
	in.Nodes, _ = inventory.Members(in.Request, in.Nodes)
	for _, n := range in.Nodes {
		if !session.KubernetesName.MatchString(n.Name) {
			return invalid(fmt.Errorf("%q is not the name of a node", n.Name))
		}
	}
	r.former, r.planes = session.FormerControlPlanes(in.Request), node.ControlPlanes(in.Nodes)
	if slices.ContainsFunc(node.ControlPlanes(in.Nodes), func(n contract.Node) bool { return slices.Contains(in.Request.Kept, n.Name) }) {
		return invalid(errors.New("a control plane of the inventory is lost and stays lost"))
	}
	in.Limit = session.Names(r.planes)
	in.Fresh = in.Limit
	return nil
}

// prove reads the whole copy and checks that it belongs to the cluster. Nothing has been changed then.
func (r *restoration) prove(ctx context.Context) error {
	request := r.in.Request
	place, err := placeOf(request)
	if err != nil {
		return r.refused(err)
	}
	r.progress.Set(1, "Read the backup")
	fmt.Fprintf(r.ports.Log, "Reading Backup %s: %s in the depot\n", session.Printable(request.Restore.Backup), place)
	r.copy = backupCopy{
		open:   func(ctx context.Context) (io.ReadCloser, error) { return r.ports.Copy(ctx, request, place) },
		sha256: request.Restore.SHA256, key: string(r.in.BackupKey),
	}
	if r.backup, err = r.copy.read(ctx, io.Discard); err != nil {
		if stop := session.Stopped(ctx, "reading the backup"); stop != nil {
			return stop
		}
		return r.refused(err)
	}
	if err := checkBackup(r.backup, request, r.planes); err != nil {
		return r.refused(err)
	}
	if err := json.Unmarshal(r.backup.Files[backup.FileInstalled], &r.before); err != nil {
		return r.refused(fmt.Errorf("%s in it: %w", backup.FileInstalled, err))
	}
	m := r.backup.Manifest
	fmt.Fprintf(r.ports.Log, "  its digest, its key and its cluster are right. It is of %s, Kubernetes %s, revision %d of etcd, %d bytes\n",
		m.Time.UTC().Format("2006-01-02 15:04:05Z"), session.Printable(m.KubernetesVersion), m.Revision, r.snapshotSize())
	if r.content = otherSettings(r.before, request); r.content != "" {
		fmt.Fprintf(r.ports.Log, "  it was made with another version or other variables. After the restore, those of the spec are applied to the control planes again\n")
	}
	return nil
}

// otherSettings returns what the record says of the variables of the control planes after the restore, if a
// control plane had another version or other variables when the backup was made; empty: none had. Objects
// in the backup, such as those of add-ons, come from those. The result differs from both variables, and
// from all others, so that the requested ones are applied to the control planes again.
func otherSettings(before contract.Installed, request contract.Request) string {
	for _, n := range node.ControlPlanes(before.Nodes) {
		version, settings := before.Level(n)
		if n.Target != nil || version != request.KubernetesVersion || settings != request.SettingsOf(n) {
			return request.Settings() + "+" + path.Base(settings)
		}
	}
	return ""
}

func (r *restoration) snapshotSize() int64 {
	files := r.backup.Manifest.Files
	return files[len(files)-1].Size
}

// begin records that the restore has begun, before the first change of a machine. Nodes that were cordoned
// for an operation when the backup was made are cordoned in it, so finish uncordons them.
func (r *restoration) begin(ctx context.Context) error {
	if err := r.store(ctx, contract.KeyRestored, ""); err != nil {
		return err
	}
	if err := r.members.Rebuild(ctx, r.in.Request); err != nil {
		return err
	}
	if err := r.members.Change(ctx, func(next *contract.Installed) {
		next.Restoring = r.in.Request.Restore.Asked
		was := slices.DeleteFunc(slices.Clone(r.before.Draining), func(name string) bool { return !session.HasName(next.Nodes, name) })
		next.Draining = session.With(next.Draining, was)
	}); err != nil {
		return err
	}
	return r.c.Record.Set(ctx, contract.HostUsed, session.HostUIDs(r.planes)...)
}

// mark identifies a restore on these machines.
func (r *restoration) mark() string {
	all := session.HostUIDs(r.planes)
	slices.Sort(all)
	return r.in.Request.Restore.Asked + "\n" + strings.Join(all, " ")
}

// marked reports whether an earlier attempt of this restore has filled etcd on the same machines.
func (r *restoration) marked(ctx context.Context) (bool, error) {
	text, err := r.ports.Installed.Get(ctx, contract.KeyRestored)
	if err != nil {
		return false, task.Because(kube.Reason(err), err)
	}
	r.filled = text != ""
	if r.members.Now.Restoring != r.in.Request.Restore.Asked {
		return false, nil
	}
	content, found := strings.CutPrefix(text+"\n", r.mark()+"\n")
	if found {
		r.content = strings.TrimSpace(content)
	}
	return found, nil
}

// store stores a value under a key of <name>-installed, unless it is there.
func (r *restoration) store(ctx context.Context, key, value string) error {
	now, err := r.ports.Installed.Get(ctx, key)
	if err == nil && now != value {
		err = r.ports.Installed.Set(ctx, key, value)
	}
	if err != nil {
		return task.Because(kube.Reason(err), err)
	}
	return nil
}

// finish waits for a healthy cluster and records it.
func (r *restoration) finish(ctx context.Context) error {
	r.in.SettingsAfter = r.content
	return cluster.Finish(ctx, r.in, r.key, r.c.Pins, r.ports, r.progress)
}

// close removes what the attempts of a complete restore have left. An attempt that is killed before its
// end leaves contract.KeyRestored, so that the next one removes it.
func (r *restoration) close(ctx context.Context) error {
	text, err := r.ports.Installed.Get(ctx, contract.KeyRestored)
	if err != nil {
		return task.Because(kube.Reason(err), err)
	}
	if text != "" {
		r.tidy(ctx)
	}
	if err := r.store(ctx, contract.KeyProved, ""); err != nil {
		return err
	}
	return r.store(ctx, contract.KeyRestored, "")
}

func (r *restoration) part(from, to int) func(percent int, step string) {
	return func(percent int, step string) { r.progress.Set(from+percent*(to-from)/100, step) }
}

func (r *restoration) access() node.Access {
	return node.Access{Dial: r.ports.Dial, Request: r.in.Request, Key: r.key, Pins: r.c.Pins, Limit: r.in.ConnectLimit}
}

// watch returns a connection for kubectl to one of the new control planes.
func (r *restoration) watch() *cluster.Client {
	return &cluster.Client{Input: r.in, Access: r.access()}
}

// on returns what runs scripts on the new control planes.
func (r *restoration) on() controlplane.Group {
	return controlplane.Group{Input: r.in, Access: r.access(), Ports: r.ports, Stay: r.planes, Gone: r.gone()}
}

// gone returns the control planes that the content of the backup may name, and that do not exist any more.
func (r *restoration) gone() (all []contract.Node) {
	for _, n := range slices.Concat(r.former, node.ControlPlanes(r.before.Nodes)) {
		at := func(o contract.Node) bool { return o.Address == n.Address }
		if n.Address != "" && !slices.ContainsFunc(r.planes, at) && !slices.ContainsFunc(all, at) {
			all = append(all, n)
		}
	}
	return all
}
