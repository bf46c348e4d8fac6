package restore_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/backup"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine"
	"github.com/akraino-icn/bpa/pkg/operate/restore"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/operate/session/sessiontest"
	"github.com/akraino-icn/bpa/pkg/tasks/etcd"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
)

// restoreFixture is a cluster whose control planes are lost, with new machines of the same names, and the
// copy of a backup. As in Planes, the scripts of the task really run.
type restoreFixture struct {
	*kubespraytest.Planes
	masters int
	sealed  []byte // the copy in the depot
	// filled reports that etcd has the content of the backup. stored are the nodes in it.
	filled bool
	stored []string
	// opened is how often the copy was read, and renewed how often kubelets have renewed their leases.
	opened, renewed int
	// started is how often the kubelet of a node was started since etcd has its content. The kubelets of
	// mute nodes reach no API server, and unready nodes are not Ready in the backup.
	started       map[string]int
	mute, unready map[string]bool
	// ranges are the ranges of the addresses of pods. notInBackup is a node that the backup lacks: it gets its range when the
	// controllers run, and after somebody has looked twice.
	ranges      map[string]string
	notInBackup string
	looked      int
	// bindings are RoleBindings that the first revocation has not found.
	bindings []string
}

const keyOfBackup = "KEY-OF-THE-BACKUP"

// newRestore returns a cluster with a worker and some control planes. All control planes are lost and have
// new machines. Of the old machines, only those with the numbers in alive answer. The backup also has worker-9, which has left the cluster since.
func newRestore(t *testing.T, stacked bool, masters int, alive ...int) *restoreFixture {
	r := &restoreFixture{Planes: kubespraytest.NewPlanes(t, stacked, masters, 1+masters, masters), masters: masters, started: map[string]int{}}
	old := slices.Clone(r.In.Nodes)
	record := r.Now()
	record.Nodes = record.Nodes[:masters+1]
	states := contract.HostStates{}
	for _, n := range record.Nodes {
		states[n.HostUID] = contract.HostUsed
	}
	r.Record(string(kubespraytest.JSON(t, states)))
	r.Installed.Data[contract.KeyInstalled] = string(kubespraytest.JSON(t, record))
	r.Installed.Data[contract.KeyJoined] = string(kubespraytest.JSON(t, session.HostUIDs(record.Nodes)))
	r.Nodes, r.Members = map[string]bool{}, nil
	var planes []contract.Node
	for k := range masters {
		i := masters + 1 + k
		n := old[i]
		n.Name, n.Roles, n.Set = old[k].Name, []string{contract.RoleControlPlane}, ""
		r.Machines[i], r.Disks[i].Report = n, machine.Report{}
		planes = append(planes, n)
		if !slices.Contains(alive, k) {
			r.Servers[k].Stop()
		}
		r.In.Request.Lost = append(r.In.Request.Lost, n.Name)
	}
	r.In.Nodes = append(planes, old[masters])
	request := &r.In.Request
	request.Members, request.EtcdNext, request.Installed = record.Nodes, record.EtcdNext, nil
	request.Operation, r.In.Playbook, r.In.Run = contract.OperationRestore, contract.PlaybookInstall, "edge-1-restore-4"
	r.stored = append(session.Names(record.Nodes), "worker-9")
	r.Cluster = nil
	r.prepareMachines()
	r.seal(func(*backup.Manifest) {})
	r.Render()
	return r
}

// prepareMachines installs the programs that the scripts need, and lets a reset delete the files.
func (r *restoreFixture) prepareMachines() {
	for name, text := range map[string]string{
		"etcdctl": "exit 1",
		"etcdutl": `f=$3; d=$5; shift 5; [ ! -e "$d" ]; mkdir -p "$d/member"; cp "$f" "$d/member/db"; echo "$*" >"$d/member/options"`,
		"df":      `echo Filesystem; echo "/dev/x 9 9 9999999 9% /"`, "sync": "exit 0", "chown": "exit 0",
	} {
		r.Write("bin/"+name, "#!/bin/sh\nset -eu\n"+text+"\n")
	}
	for i := range r.Machines {
		host := r.Machines[i].Host
		r.Disks[i].Before = func(script string, _ io.Writer) int {
			status := r.Change(script+" "+host, script != "inspect")
			if status == 0 && script == "clean" {
				_ = os.RemoveAll(filepath.Join(r.Dir, fmt.Sprintf("machine-%d", i+1)))
			}
			return status
		}
	}
	r.Scripts, r.Play, r.Fixture.Etcd, r.Living.Commands = r.script, r.playbook, r.etcdctl, r.kubectl
}

// seal makes the copy of the backup.
func (r *restoreFixture) seal(change func(*backup.Manifest)) {
	r.T.Helper()
	identity, recipient, err := backup.NewKey()
	if err != nil {
		r.T.Fatal(err)
	}
	content := []byte("content of etcd")
	sum := sha256.Sum256(content)
	snapshot := append(content, sum[:]...)
	m := backup.Manifest{Namespace: "site", Provisioning: "edge-1", UID: r.In.Request.UID, KubernetesVersion: "1.35.4", Revision: 42, PKIFolder: "/etc/kubernetes/pki"}
	names := []string{"pki/ca.crt", "pki/ca.key", "pki/sa.key", "pki/sa.pub", "pki/front-proxy-ca.crt", "pki/front-proxy-ca.key"}
	if r.Stacked {
		names = append(names, "pki/etcd/ca.crt", "pki/etcd/ca.key")
	} else {
		names, m.EtcdPKIFolder = append(names, "etcd-pki/ca.pem", "etcd-pki/ca-key.pem"), "/etc/ssl/etcd/ssl"
	}
	files := []backup.File{{Name: backup.FileInstalled, Content: []byte(r.Installed.Data[contract.KeyInstalled])}}
	for _, name := range names {
		files = append(files, backup.File{Name: name, Content: []byte(keyOfBackup + " " + name)})
	}
	change(&m)
	w, err := backup.NewWriter(m, files, backup.Snapshot{Size: int64(len(snapshot)), Reader: bytes.NewReader(snapshot)}, recipient)
	if err != nil {
		r.T.Fatal(err)
	}
	var sealed bytes.Buffer
	if _, err := w.WriteTo(&sealed); err != nil {
		r.T.Fatal(err)
	}
	digest := sha256.Sum256(sealed.Bytes())
	r.sealed, r.In.BackupKey = sealed.Bytes(), []byte(identity)
	r.In.Request.Restore = &contract.Restore{Asked: "nightly", Backup: "nightly", Artifact: backup.Artifact("nightly", "01234567"), SHA256: hex.EncodeToString(digest[:]), Fenced: true}
}

func (r *restoreFixture) ports() session.Ports {
	p := r.Living.Ports()
	p.Copy = func(ctx context.Context, request contract.Request, path string) (io.ReadCloser, error) {
		if want := "binary_images/site/edge-1/" + backup.Artifact("nightly", "01234567"); path != want {
			r.T.Errorf("the task reads %s, want %s", path, want)
		}
		return r.open(ctx)
	}
	return p
}

// open opens the copy of the backup.
func (r *restoreFixture) open(context.Context) (io.ReadCloser, error) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.opened++
	return io.NopCloser(bytes.NewReader(r.sealed)), nil
}

func (r *restoreFixture) run() (session.Output, error) {
	ctx, cancel := context.WithTimeout(r.T.Context(), 60*time.Second)
	defer cancel()
	return kubespray.Run(ctx, r.In, r.ports())
}

// steps are what a script does, by a part of it.
var steps = []struct{ part, what string }{
	{".part; chmod", "key"}, {"rm -rf \"$w\"; mkdir \"$w\"", "prepare"}, {"cat >", "receive"}, {"snapshot restore", "etcdutl"},
	{"mkdir -p " + restore.ManifestsAside, "stop"}, {"for c in kube-apiserver;", "start kube-apiserver"}, {"for c in etcd;", "start etcd"}, {"start --no-block etcd", "start etcd"},
	{"for c in kube-controller-manager kube-scheduler;", "start the rest"}, {"mv \"$d/member\"", "swap"}, {"ip link delete", "renew the pods"}, {"address show", "read the bridges"}, {"systemctl stop kubelet", "stop kubelet"},
	{"systemctl restart kubelet", "restart kubelet"}, {"systemctl start kubelet", "start kubelet"}, {"rm -rf /var/lib/etcd/" + restore.WorkFolder, "tidy"},
}

// script runs the scripts of a restore, and leaves the others to Planes.
func (r *restoreFixture) script(i int, command string, stdout, stderr io.Writer) (int, bool) {
	text, found := strings.CutPrefix(command, "sh -c '")
	if !found || strings.HasPrefix(text, "fake ") {
		return 0, false
	}
	text = strings.TrimSuffix(text, "'")
	k := slices.IndexFunc(steps, func(s struct{ part, what string }) bool { return strings.Contains(text, s.part) })
	if k < 0 && strings.Contains(text, "a static pod still runs") {
		return r.shWith(i, text, nil, stdout, stderr), true
	}
	if k < 0 || strings.Contains(text, "bpa-restart-kubelet") {
		return r.Planes.Script(i, command, stdout, stderr)
	}
	if status := r.Change(steps[k].what+" "+r.Machines[i].Name, true); status != 0 {
		return status, true
	}
	var input io.Reader
	if strings.Contains(text, "cat >") {
		input = stdout.(io.Reader)
	}
	status := r.shWith(i, text, input, stdout, stderr)
	r.kubelet(i)
	if slices.Contains([]string{"renew the pods", "restart kubelet", "start kubelet"}, steps[k].what) && status == 0 {
		r.Mu.Lock()
		if name := r.Machines[i].Name; !r.mute[name] {
			r.Nodes[name] = true
			r.started[name]++
		}
		r.Mu.Unlock()
	}
	return status, true
}

// shWith is like sh, and the script has an input and sees the machine's folder of etcd.
func (r *restoreFixture) shWith(i int, script string, in io.Reader, stdout, stderr io.Writer) int {
	at := filepath.Join(r.Dir, fmt.Sprintf("machine-%d", i+1))
	for _, path := range []string{"/etc/kubernetes", "/etc/ssl/etcd", "/var/lib/etcd", "/proc/", "/run/flannel", "/etc/cni"} {
		script = strings.ReplaceAll(script, path, at+path)
	}
	c := exec.CommandContext(r.T.Context(), "/bin/sh", "-c", script)
	c.Env = []string{"PATH=" + filepath.Join(r.Dir, "bin") + ":/usr/bin:/bin", "M=" + at}
	c.Stdin, c.Stdout, c.Stderr = in, stdout, stderr
	if err := os.MkdirAll(at, 0o700); err != nil {
		r.T.Error(err)
	}
	if err := c.Run(); err != nil {
		if c.ProcessState != nil && c.ProcessState.ExitCode() > 0 {
			return c.ProcessState.ExitCode()
		}
		return 1
	}
	return 0
}

// kubelet runs the static pods of a machine that have manifests.
func (r *restoreFixture) kubelet(i int) {
	at := fmt.Sprintf("machine-%d/", i+1)
	for name, process := range map[string]struct{ pid, argument string }{
		"etcd":           {"88", "--initial-advertise-peer-urls=https://" + r.Machines[i].Address + ":2380"},
		"kube-apiserver": {"77", "--etcd-servers=" + r.Endpoints()},
	} {
		_, err := os.Stat(filepath.Join(r.Dir, at, "etc/kubernetes/manifests", name+".yaml"))
		if err != nil {
			_ = os.RemoveAll(filepath.Join(r.Dir, at, "proc", process.pid))
			continue
		}
		r.Write(at+"proc/"+process.pid+"/cmdline", name+"\x00"+process.argument+"\x00")
		for _, program := range []string{"etcdctl", "etcdutl"} {
			r.Write(at+"proc/"+process.pid+"/root/usr/local/bin/"+program, r.Read("bin/"+program))
		}
	}
}

// playbook is kubespray. cluster.yml installs an empty cluster.
func (r *restoreFixture) playbook(c process.Command, stdout, stderr io.Writer) int {
	if c.Args[len(c.Args)-1] != contract.PlaybookInstall || slices.Contains(c.Args, "--tags") {
		return r.Planes.Playbook(c, stdout, stderr)
	}
	r.Mu.Lock()
	r.Nodes, r.Addresses, r.Members, r.filled = map[string]bool{}, map[string]string{}, nil, false
	r.Mu.Unlock()
	r.Write("cluster/cluster-info", "server: https://"+r.In.Nodes[0].Address+":6443\n")
	r.Write("cluster/kubeadm-config", "https://"+r.In.Nodes[0].Address+":2379")
	for i, n := range r.Machines {
		at := fmt.Sprintf("machine-%d", i+1)
		if !session.HasHost(r.In.Nodes[:r.masters], n) {
			continue
		}
		if got := r.Read(at + "/etc/kubernetes/pki/ca.key"); got != keyOfBackup+" pki/ca.key" {
			r.T.Errorf("when the playbook begins, ca.key of %s is %q", n.Name, got)
		}
		r.Write(at+"/var/lib/etcd/member/db", "empty")
		if r.Stacked {
			r.Write(at+"/etc/kubernetes/manifests/etcd.yaml", "etcd")
		} else {
			r.Write(at+etcd.HostCertificates+"admin-"+n.Name+".pem", "made")
		}
	}
	status := r.Planes.Playbook(c, stdout, stderr)
	for i, n := range r.Machines {
		if session.HasHost(r.In.Nodes[:r.masters], n) && status == 0 {
			r.Manifest(i, r.Endpoints())
			r.kubelet(i)
		}
	}
	r.Cluster = func(int) string { return r.registered() }
	return status
}

// registered is the output of kubectl get nodes.
func (r *restoreFixture) registered() string {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	if slices.Contains(r.Did, "start the rest master-1") {
		r.looked++
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(r.Nodes)) {
		var ranges []string
		if of := r.ranges[name]; of != "" && (r.looked > 2 || name != r.notInBackup) {
			ranges = []string{of}
		}
		all = append(all, fmt.Sprintf(`{"kind":"Node","metadata":{"name":%q,"labels":{"node-role.kubernetes.io/control-plane":""}},"spec":{"podCIDRs":%s,"taints":[{"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"}]},"status":{"conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":"2026-11-22T19:%02d:00Z"}]}}`, name, kubespraytest.JSON(r.T, ranges), r.started[name]))
	}
	return sessiontest.List(all...)
}

// etcdctl answers the commands about etcd, also those of the programs in the work folder.
func (r *restoreFixture) etcdctl(command string, stdout io.Writer) int {
	_, prefix, found := strings.Cut(command, " del --prefix ")
	if !found {
		var out bytes.Buffer
		status := r.Planes.Etcdctl(command, &out)
		text := out.String()
		for _, m := range r.Members { // as kubeadm, which names a member like its node
			for _, n := range r.In.Nodes {
				if n.Address == m.Address {
					text = strings.ReplaceAll(text, fmt.Sprintf(`{"ID":%d,`, m.ID), fmt.Sprintf(`{"ID":%d,"name":%q,`, m.ID, n.Name))
				}
			}
		}
		fmt.Fprint(stdout, text)
		return status
	}
	if status := r.Change("revoke "+strings.Fields(prefix)[0], true); status != 0 {
		return status
	}
	r.Mu.Lock()
	defer r.Mu.Unlock()
	if !r.filled { // etcd has started with the content of the backup
		r.filled, r.Nodes, r.started = true, map[string]bool{}, map[string]int{}
		for _, name := range r.stored {
			r.Nodes[name] = !r.unready[name]
		}
		r.Write("cluster/cluster-info", "server: https://10.60.0.1:6443\n")
	}
	fmt.Fprint(stdout, `{"deleted":1}`)
	return 0
}

// kubectl also answers the questions of a restore.
func (r *restoreFixture) kubectl(command string, stdout, stderr io.Writer) (int, bool) {
	switch {
	case strings.Contains(command, " get clusterrolebindings "):
		fmt.Fprint(stdout, "clusterrolebinding.rbac.authorization.k8s.io/cluster-admin\nclusterrolebinding.rbac.authorization.k8s.io/bpa-viewers\n")
		return 0, true
	case strings.Contains(command, " get rolebindings --namespace kube-node-lease "):
		for _, name := range r.bindings {
			fmt.Fprintln(stdout, "rolebinding.rbac.authorization.k8s.io/"+name)
		}
		return 0, true
	case strings.Contains(command, " delete rolebindings --namespace kube-node-lease "):
		r.bindings = slices.DeleteFunc(r.bindings, func(name string) bool { return strings.Contains(command, " "+name+" ") })
		return 0, true
	case strings.Contains(command, " get leases "):
		fmt.Fprint(stdout, r.leases())
		return 0, true
	case strings.Contains(command, " label node "), strings.Contains(command, " taint node "):
		_, what, _ := strings.Cut(command, ":6443 ")
		return r.Change(what, true), true
	case strings.Contains(command, " --output name"):
		fmt.Fprint(stdout, "node/x\n")
		return 0, true
	}
	return r.Planes.Kubectl(command, stdout, stderr)
}

// leases are the Leases of the nodes. Each kubelet that was started has renewed its own since the last question.
func (r *restoreFixture) leases() string {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.renewed++
	var all []string
	for _, name := range slices.Sorted(maps.Keys(r.Nodes)) {
		renewed := "2026-11-21T02:30:00.000000Z" // that of the backup
		if r.started[name] > 0 {
			renewed = fmt.Sprintf("2026-11-22T19:00:00.%06dZ", r.renewed)
		}
		all = append(all, fmt.Sprintf(`{"kind":"Lease","metadata":{"name":%q},"spec":{"renewTime":%q}}`, name, renewed))
	}
	return sessiontest.List(all...)
}
