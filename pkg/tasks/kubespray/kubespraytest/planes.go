package kubespraytest

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/inventory"
	"github.com/akraino-icn/bpa/pkg/machine"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/etcd"
)

// configOfKubeadm is the configuration of kubeadm that kubespray writes on each control plane.
const configOfKubeadm = "/etc/kubernetes/kubeadm-config.yaml"

// etcdEndpoint matches the endpoints of etcd in it.
var etcdEndpoint = regexp.MustCompile(`https://[^"\s]+:2379`)

// Planes is an installed cluster whose control planes change. The scripts of the task really
// run: each machine is a directory with the files of a control plane, and kubeadm, kubectl and
// systemctl are small programs that read and write them.
type Planes struct {
	*Living
	Dir     string // has a directory for each machine, "bin", and "cluster" with the ConfigMaps
	Stacked bool   // etcd runs in a pod on each control plane
	Members []*Member
	// Machines are the nodes by the number of their server.
	Machines []contract.Node
	// Addresses are the addresses of the nodes in the cluster.
	Addresses map[string]string
	next      uint64 // the ID of the next member
	Half      bool   // the playbook fails after the new machine has joined etcd
}

// Member is a member of etcd.
type Member struct {
	ID            uint64
	Address       string
	started, Sick bool
}

// programs are what the scripts of the task run. $M is the directory of the machine, $C that of the
// cluster.
var programs = map[string]string{
	"kubeadm": `case "$*" in
"init phase control-plane apiserver --config "*) echo "control-plane" >>"$M/kubeadm.log"; exec "$B/manifest" "$(sed -n 's/^ *- "\(https:.*\)"$/\1/p' "$6" | paste -sd,)";;
"init phase upload-config kubeadm --config "*) cp "$6" "$C/kubeadm-config";;
*) echo "kubeadm $*" >&2; exit 1;; esac`,
	// manifest writes the manifest of the API server, and lets the API server restart
	"manifest": `mkdir -p "$M/etc/kubernetes/manifests" "$M/proc/77"
printf '    - --etcd-certfile=/x\n    - --etcd-servers=%s\n    - --secure-port=6443\n' "$1" >"$M/etc/kubernetes/manifests/kube-apiserver.yaml"
printf 'kube-apiserver\0--etcd-servers=%s\0' "$1" >"$M/proc/77/cmdline"`,
	"kubectl": `case "$*" in
"--namespace kube-public get configmap cluster-info --output yaml") cat "$C/cluster-info";;
"replace --filename -") cat >"$C/new"; mv "$C/new" "$C/cluster-info";;
"--namespace kube-system get configmap kubeadm-config --output jsonpath={.data.ClusterConfiguration}") cat "$C/kubeadm-config";;
"--server https://$A:6443 --request-timeout=5s get --raw /readyz") echo ok;;
*) echo "the program kubectl got $*" >&2; exit 1;; esac`,
	"systemctl": `echo "$*" >>"$M/systemctl.log"`,
	"crictl": `case "$*" in
"pods --quiet") echo a; echo b;;
"inspectp --output go-template --template "*" a") echo NODE;;
"inspectp --output go-template --template "*" b") echo POD;;
*) echo "crictl $*" >>"$M/network.log";; esac`,
	"ip": `case "$*" in *"address show"*) cat "$M/bridges" 2>/dev/null || :;; *) echo "ip $*" >>"$M/network.log";; esac`,
}

// NewPlanes returns an installed cluster with control planes and workers. Etcd has a member on each
// of the first n control planes. All control planes and cluster-info name the first one.
func NewPlanes(t *testing.T, stacked bool, masters, workers, n int) *Planes {
	p := &Planes{Living: NewLiving(t, masters+workers-1), Dir: t.TempDir(), Stacked: stacked, Addresses: map[string]string{}, next: 0xa1}
	for name, text := range programs {
		p.Write("bin/"+name, "#!/bin/sh\nset -eu\n"+text+"\n")
	}
	for i := range p.In.Nodes {
		switch {
		case i == 0:
		case i < masters:
			p.promote(i, fmt.Sprintf("master-%d", i+1))
		default:
			p.rename(i, fmt.Sprintf("worker-%d", i-masters+1))
		}
		p.In.Request.Installed = append(p.In.Request.Installed, p.In.Nodes[i].Host)
		p.Addresses[p.In.Nodes[i].Name] = p.In.Nodes[i].Address
	}
	p.Machines = slices.Clone(p.In.Nodes)
	record := p.Now()
	for i := range record.Nodes[:masters] {
		record.Nodes[i].Etcd = ""
		if i < n {
			record.Nodes[i].Etcd = fmt.Sprintf("etcd%d", i+1)
			p.Join(record.Nodes[i].Address)
		}
	}
	record.EtcdNext = n + 1
	p.Installed.Data[contract.KeyInstalled] = string(JSON(t, record))
	p.In.Request.Members, p.In.Request.EtcdNext, p.In.Request.Remove = record.Nodes, record.EtcdNext, nil
	p.Write("cluster/cluster-info", "data:\n  kubeconfig: |\n    server: https://10.60.0.1:6443\n")
	for i := range masters {
		p.configure(i)
	}
	p.Write("cluster/kubeadm-config", p.Read("machine-1"+configOfKubeadm))
	p.Scripts = p.Script
	p.Fixture.Etcd = p.Etcdctl
	p.Play = p.Playbook
	p.Living.Commands = p.Kubectl
	return p
}

func (p *Planes) rename(i int, name string) {
	n := &p.In.Nodes[i]
	former := n.Name
	if isReady, there := p.Nodes[former]; there {
		delete(p.Nodes, former)
		p.Nodes[name] = isReady
	}
	p.movePods(former, name)
	n.Name = name
	p.Disks[i].Before = func(script string, _ io.Writer) int { return p.Change(script+" "+name, script != "inspect") }
	record := p.Now()
	if i < len(record.Nodes) {
		record.Nodes[i].Name = name
		p.Installed.Data[contract.KeyInstalled] = string(JSON(p.T, record))
	}
}

// Write writes a file below Dir.
func (p *Planes) Write(name, text string) {
	p.T.Helper()
	at := filepath.Join(p.Dir, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		p.T.Fatal(err)
	}
	syscall.ForkLock.RLock() // a process that starts meanwhile would inherit the open file, and until it runs its own program, nobody could run this one
	err := os.WriteFile(at, []byte(text), 0o700)
	syscall.ForkLock.RUnlock()
	if err != nil {
		p.T.Fatal(err)
	}
}

// Read returns the content of a file below Dir.
func (p *Planes) Read(name string) string {
	text, err := os.ReadFile(filepath.Join(p.Dir, name))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// configure writes the files of the control plane on the i-th machine, as a joining one gets them.
func (p *Planes) configure(i int) {
	at := fmt.Sprintf("machine-%d", i+1)
	_, server, _ := strings.Cut(p.Read("cluster/cluster-info"), "server: ")
	config := "    server: " + server
	p.Write(at+"/etc/kubernetes/admin.conf", config)
	p.Write(at+"/root/.kube/config", config)
	p.Write(at+"/etc/kubernetes/kubelet.conf", "    server: https://"+p.Machines[i].Address+":6443\n")
	text := "kind: ClusterConfiguration\netcd:\n  local:\n    dataDir: /var/lib/etcd\n"
	if !p.Stacked {
		text = "kind: ClusterConfiguration\netcd:\n  external:\n      endpoints:\n      - \"" + strings.ReplaceAll(p.Endpoints(), ",", "\"\n      - \"") +
			"\"\n      certFile: /etc/ssl/etcd/ssl/node-" + p.Machines[i].Name + ".pem\n"
	}
	p.Write(at+configOfKubeadm, text+"controlPlaneEndpoint: \""+p.Machines[i].Address+":6443\"\n")
	p.Manifest(i, p.Endpoints())
}

// Manifest writes the manifest of the API server on the i-th machine, with these URLs of etcd.
func (p *Planes) Manifest(i int, servers string) {
	if status := p.Sh(i, "manifest "+servers, io.Discard, os.Stderr); status != 0 {
		p.T.Errorf("manifest: status %d", status)
	}
}

// Sh runs a script on the i-th machine.
func (p *Planes) Sh(i int, script string, stdout, stderr io.Writer) int {
	at := filepath.Join(p.Dir, fmt.Sprintf("machine-%d", i+1))
	_ = os.MkdirAll(filepath.Join(at, "run"), 0o700)
	for _, path := range []string{"/etc/kubernetes", "/etc/ssl/etcd", "/root/.kube", "/proc/", "/run/"} {
		script = strings.ReplaceAll(script, path, at+path)
	}
	c := exec.CommandContext(p.T.Context(), "/bin/sh", "-c", script)
	c.Env = []string{"PATH=" + filepath.Join(p.Dir, "bin") + ":/usr/bin:/bin", "M=" + at, "C=" + filepath.Join(p.Dir, "cluster"), "B=" + filepath.Join(p.Dir, "bin"), "A=" + p.Machines[i].Address}
	c.Stdout, c.Stderr = stdout, stderr
	if err := c.Run(); err != nil {
		if c.ProcessState != nil && c.ProcessState.ExitCode() > 0 {
			return c.ProcessState.ExitCode()
		}
		return 1
	}
	return 0
}

// Script runs the scripts of the task about control planes, and records those that change something.
func (p *Planes) Script(i int, command string, stdout, stderr io.Writer) (status int, known bool) {
	script, found := strings.CutPrefix(command, "sh -c '")
	if !found || strings.HasPrefix(script, "fake ") {
		return 0, false
	}
	script = strings.TrimSuffix(script, "'")
	what := ""
	for _, kind := range []struct{ part, what string }{
		{"bpa-restart-kubelet", "repoint"}, {"replace --filename", "cluster-info"}, {"upload-config", "upload"},
		{"phase control-plane", "apiserver"}, {"rm -f " + etcd.HostCertificates, "certificates"},
	} {
		if strings.Contains(script, kind.part) {
			what = kind.what + " " + p.Machines[i].Name
		}
	}
	if what == "" && !strings.Contains(script, "kube-apiserver.yaml") && !strings.Contains(script, "ClusterConfiguration") && !strings.Contains(script, "/readyz") {
		return 0, false
	}
	if status := p.Change("", what != ""); status != 0 {
		return status, true
	}
	before := p.state()
	status = p.Sh(i, script, stdout, stderr)
	if p.state() != before {
		p.Mu.Lock()
		p.Did = append(p.Did, what)
		p.Mu.Unlock()
	}
	return status, true
}

// state returns the content of all files.
func (p *Planes) state() string {
	var b bytes.Buffer
	_ = filepath.WalkDir(p.Dir, func(at string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			text, _ := os.ReadFile(at)
			fmt.Fprintf(&b, "%s\n%s\n", at, text)
		}
		return nil
	})
	return b.String()
}

// Kubectl also answers the questions about one node.
func (p *Planes) Kubectl(command string, stdout, stderr io.Writer) (int, bool) {
	_, rest, found := strings.Cut(command, " get node ")
	if !found {
		return p.Living.kubectl(command, stdout, stderr)
	}
	name := strings.Fields(rest)[0]
	p.Mu.Lock()
	defer p.Mu.Unlock()
	isReady, there := p.Nodes[name]
	switch {
	case !there:
	case strings.Contains(rest, "InternalIP"):
		fmt.Fprint(stdout, p.Addresses[name])
	default:
		fmt.Fprint(stdout, map[bool]string{true: "True", false: "Unknown"}[isReady])
	}
	return 0, true
}

// Connected returns the nodes to whose machines the task has connected.
func (p *Planes) Connected() (names []string) {
	for i, n := range p.Machines {
		if len(p.Servers[i].Commands()) > 0 {
			names = append(names, n.Name)
		}
	}
	return names
}

// ExpectFiles checks what the control planes use: their own API servers if own is true, and all
// members of etcd.
func (p *Planes) ExpectFiles(own bool) {
	p.T.Helper()
	for i, n := range p.Machines {
		if p.Addresses[n.Name] != n.Address || !slices.Contains(n.Roles, contract.RoleControlPlane) || !p.Nodes[n.Name] {
			continue
		}
		at := fmt.Sprintf("machine-%d", i+1)
		for _, file := range []string{"/etc/kubernetes/admin.conf", "/root/.kube/config"} {
			if got := p.Read(at + file); own && strings.Contains(got, "10.60.0.1:") {
				p.T.Errorf("%s of %s is %s", file, n.Name, got)
			}
		}
		if got := p.Read(at + "/etc/kubernetes/manifests/kube-apiserver.yaml"); !strings.Contains(got, "--etcd-servers="+p.Endpoints()+"\n") {
			p.T.Errorf("the API server of %s has %s, want %s", n.Name, got, p.Endpoints())
		}
	}
	stored := p.Read("cluster/kubeadm-config")
	if own && strings.Contains(stored+p.Read("cluster/cluster-info"), "10.60.0.1:") {
		p.T.Errorf("the cluster names the first control plane: %s", stored)
	}
	if !p.Stacked {
		if got := strings.Join(etcdEndpoint.FindAllString(stored, -1), ","); got != p.Endpoints() {
			p.T.Errorf("joining control planes get the members %s, want %s", got, p.Endpoints())
		}
	}
}

// Grow adds a new control plane on the last machine, which is empty.
func (p *Planes) Grow(name string) {
	i := len(p.In.Nodes) - 1
	delete(p.Nodes, p.In.Nodes[i].Name)
	p.rename(i, name)
	n := &p.In.Nodes[i]
	n.Roles, n.Set = []string{contract.RoleControlPlane}, ""
	record := p.Now()
	record.Nodes = slices.Delete(record.Nodes, i, i+1)
	states := contract.HostStates{}
	for _, m := range record.Nodes {
		states[m.HostUID] = contract.HostUsed
	}
	p.Record(string(JSON(p.T, states)))
	p.Installed.Data[contract.KeyInstalled] = string(JSON(p.T, record))
	p.Installed.Data[contract.KeyJoined] = string(JSON(p.T, session.HostUIDs(record.Nodes)))
	p.Disks[i].Report, p.Machines[i] = machine.Report{}, *n
	p.In.Request.Members, p.In.Request.Installed = record.Nodes, p.In.Request.Installed[:i]
	p.In.Playbook, p.In.Run, p.In.Request.Operation = contract.PlaybookInstall, "edge-1-add-2", contract.OperationAddControlPlane
	p.Render()
}

// Lose lets the first machine die. Its node is to be replaced, or removed.
func (p *Planes) Lose() {
	first := p.In.Nodes[0]
	p.Servers[0].Stop()
	for _, m := range p.Members {
		m.Sick = m.Sick || m.Address == first.Address
	}
	p.Nodes[first.Name] = false
	p.In.Request.Lost = []string{first.Name}
}

// Render renders the inventory as the task render-inventory does.
func (p *Planes) Render() {
	p.T.Helper()
	rendered, err := inventory.RenderPinned(p.In.Request, p.In.Nodes, nil)
	if err != nil {
		p.T.Fatal(err)
	}
	p.In.HostsINI, p.In.GroupVars = rendered.HostsINI, rendered.GroupVars
}

// ExpectMemberAddresses checks the last bytes of the addresses of the members of etcd: "2" for 10.60.0.2.
func (p *Planes) ExpectMemberAddresses(want ...string) {
	p.T.Helper()
	var got []string
	for _, m := range p.Members {
		got = append(got, strings.TrimPrefix(m.Address, "10.60.0."))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		p.T.Errorf("members of etcd (-want +got):\n%s", diff)
	}
}
