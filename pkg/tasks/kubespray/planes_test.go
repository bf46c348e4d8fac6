package kubespray

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

// planesFixture is an installed cluster whose control planes change. The scripts of the task really
// run: each machine is a directory with the files of a control plane, and kubeadm, kubectl and
// systemctl are small programs that read and write them.
type planesFixture struct {
	*living
	dir     string // has a directory for each machine, "bin", and "cluster" with the ConfigMaps
	stacked bool   // etcd runs in a pod on each control plane
	members []*fakeMember
	// machines are the nodes by the number of their server.
	machines []contract.Node
	// addresses are the addresses of the nodes in the cluster.
	addresses map[string]string
	next      uint64 // the ID of the next member
	half      bool   // the playbook fails after the new machine has joined etcd
}

type fakeMember struct {
	id            uint64
	address       string
	started, sick bool
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
*) echo "kubectl $*" >&2; exit 1;; esac`,
	"systemctl": `echo "$*" >>"$M/systemctl.log"`,
	"crictl": `case "$*" in
"pods --quiet") echo a; echo b;;
"inspectp --output go-template --template "*" a") echo NODE;;
"inspectp --output go-template --template "*" b") echo POD;;
*) echo "crictl $*" >>"$M/network.log";; esac`,
	"ip": `case "$*" in *"address show"*) cat "$M/bridges" 2>/dev/null || :;; *) echo "ip $*" >>"$M/network.log";; esac`,
}

// newPlanes returns an installed cluster with control planes and workers. Etcd has a member on each
// of the first n control planes. All control planes and cluster-info name the first one.
func newPlanes(t *testing.T, stacked bool, masters, workers, n int) *planesFixture {
	p := &planesFixture{living: newLiving(t, masters+workers-1), dir: t.TempDir(), stacked: stacked, addresses: map[string]string{}, next: 0xa1}
	for name, text := range programs {
		p.write("bin/"+name, "#!/bin/sh\nset -eu\n"+text+"\n")
	}
	for i := range p.in.Nodes {
		switch {
		case i == 0:
		case i < masters:
			p.promote(i, fmt.Sprintf("master-%d", i+1))
		default:
			p.rename(i, fmt.Sprintf("worker-%d", i-masters+1))
		}
		p.in.Request.Installed = append(p.in.Request.Installed, p.in.Nodes[i].Host)
		p.addresses[p.in.Nodes[i].Name] = p.in.Nodes[i].Address
	}
	p.machines = slices.Clone(p.in.Nodes)
	record := p.now()
	for i := range record.Nodes[:masters] {
		record.Nodes[i].Etcd = ""
		if i < n {
			record.Nodes[i].Etcd = fmt.Sprintf("etcd%d", i+1)
			p.join(record.Nodes[i].Address)
		}
	}
	record.EtcdNext = n + 1
	p.installed.Data[contract.KeyInstalled] = string(asJSON(t, record))
	p.in.Request.Members, p.in.Request.EtcdNext, p.in.Request.Remove = record.Nodes, record.EtcdNext, nil
	p.write("cluster/cluster-info", "data:\n  kubeconfig: |\n    server: https://10.60.0.1:6443\n")
	for i := range masters {
		p.configure(i)
	}
	p.write("cluster/kubeadm-config", p.read("machine-1"+configOfKubeadm))
	p.scripts = p.script
	p.fixture.etcd = p.etcdctl
	p.play = p.playbook
	p.living.commands = p.kubectl
	return p
}

func (p *planesFixture) rename(i int, name string) {
	n := &p.in.Nodes[i]
	former := n.Name
	if isReady, there := p.nodes[former]; there {
		delete(p.nodes, former)
		p.nodes[name] = isReady
	}
	p.pods[name] = p.pods[former]
	n.Name = name
	p.disks[i].before = func(script string, _ io.Writer) int { return p.change(script+" "+name, script != "inspect") }
	record := p.now()
	if i < len(record.Nodes) {
		record.Nodes[i].Name = name
		p.installed.Data[contract.KeyInstalled] = string(asJSON(p.t, record))
	}
}

func (p *planesFixture) write(name, text string) {
	p.t.Helper()
	at := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o700); err != nil {
		p.t.Fatal(err)
	}
}

func (p *planesFixture) read(name string) string {
	text, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// configure writes the files of the control plane on the i-th machine, as a joining one gets them.
func (p *planesFixture) configure(i int) {
	at := fmt.Sprintf("machine-%d", i+1)
	_, server, _ := strings.Cut(p.read("cluster/cluster-info"), "server: ")
	config := "    server: " + server
	p.write(at+"/etc/kubernetes/admin.conf", config)
	p.write(at+"/root/.kube/config", config)
	p.write(at+"/etc/kubernetes/kubelet.conf", "    server: https://"+p.machines[i].Address+":6443\n")
	text := "kind: ClusterConfiguration\netcd:\n  local:\n    dataDir: /var/lib/etcd\n"
	if !p.stacked {
		text = "kind: ClusterConfiguration\netcd:\n  external:\n      endpoints:\n      - \"" + strings.ReplaceAll(p.endpoints(), ",", "\"\n      - \"") +
			"\"\n      certFile: /etc/ssl/etcd/ssl/node-" + p.machines[i].Name + ".pem\n"
	}
	p.write(at+configOfKubeadm, text+"controlPlaneEndpoint: \""+p.machines[i].Address+":6443\"\n")
	p.manifest(i, p.endpoints())
}

func (p *planesFixture) manifest(i int, servers string) {
	if status := p.sh(i, "manifest "+servers, io.Discard, os.Stderr); status != 0 {
		p.t.Errorf("manifest: status %d", status)
	}
}

// sh runs a script on the i-th machine.
func (p *planesFixture) sh(i int, script string, stdout, stderr io.Writer) int {
	at := filepath.Join(p.dir, fmt.Sprintf("machine-%d", i+1))
	_ = os.MkdirAll(filepath.Join(at, "run"), 0o700)
	for _, path := range []string{"/etc/kubernetes", "/etc/ssl/etcd", "/root/.kube", "/proc/", "/run/"} {
		script = strings.ReplaceAll(script, path, at+path)
	}
	c := exec.CommandContext(p.t.Context(), "/bin/sh", "-c", script)
	c.Env = []string{"PATH=" + filepath.Join(p.dir, "bin") + ":/usr/bin:/bin", "M=" + at, "C=" + filepath.Join(p.dir, "cluster"), "B=" + filepath.Join(p.dir, "bin"), "A=" + p.machines[i].Address}
	c.Stdout, c.Stderr = stdout, stderr
	if err := c.Run(); err != nil {
		if c.ProcessState != nil && c.ProcessState.ExitCode() > 0 {
			return c.ProcessState.ExitCode()
		}
		return 1
	}
	return 0
}

// script runs the scripts of the task about control planes, and records those that change something.
func (p *planesFixture) script(i int, command string, stdout, stderr io.Writer) (status int, known bool) {
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
			what = kind.what + " " + p.machines[i].Name
		}
	}
	if what == "" && !strings.Contains(script, "kube-apiserver.yaml") && !strings.Contains(script, "ClusterConfiguration") && !strings.Contains(script, "/readyz") {
		return 0, false
	}
	if status := p.change("", what != ""); status != 0 {
		return status, true
	}
	before := p.state()
	status = p.sh(i, script, stdout, stderr)
	if p.state() != before {
		p.mu.Lock()
		p.did = append(p.did, what)
		p.mu.Unlock()
	}
	return status, true
}

// state returns the content of all files.
func (p *planesFixture) state() string {
	var b bytes.Buffer
	_ = filepath.WalkDir(p.dir, func(at string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			text, _ := os.ReadFile(at)
			fmt.Fprintf(&b, "%s\n%s\n", at, text)
		}
		return nil
	})
	return b.String()
}

// kubectl also answers the questions about one node.
func (p *planesFixture) kubectl(command string, stdout, stderr io.Writer) (int, bool) {
	_, rest, found := strings.Cut(command, " get node ")
	if !found {
		return p.living.kubectl(command, stdout, stderr)
	}
	name := strings.Fields(rest)[0]
	p.mu.Lock()
	defer p.mu.Unlock()
	isReady, there := p.nodes[name]
	switch {
	case !there:
	case strings.Contains(rest, "InternalIP"):
		fmt.Fprint(stdout, p.addresses[name])
	default:
		fmt.Fprint(stdout, map[bool]string{true: "True", false: "Unknown"}[isReady])
	}
	return 0, true
}

// connected returns the nodes to whose machines the task has connected.
func (p *planesFixture) connected() (names []string) {
	for i, n := range p.machines {
		if len(p.servers[i].Commands()) > 0 {
			names = append(names, n.Name)
		}
	}
	return names
}

// expectFiles checks what the control planes use: their own API servers if own is true, and all
// members of etcd.
func (p *planesFixture) expectFiles(own bool) {
	p.t.Helper()
	for i, n := range p.machines {
		if p.addresses[n.Name] != n.Address || !slices.Contains(n.Roles, contract.RoleControlPlane) || !p.nodes[n.Name] {
			continue
		}
		at := fmt.Sprintf("machine-%d", i+1)
		for _, file := range []string{"/etc/kubernetes/admin.conf", "/root/.kube/config"} {
			if got := p.read(at + file); own && strings.Contains(got, "10.60.0.1:") {
				p.t.Errorf("%s of %s is %s", file, n.Name, got)
			}
		}
		if got := p.read(at + "/etc/kubernetes/manifests/kube-apiserver.yaml"); !strings.Contains(got, "--etcd-servers="+p.endpoints()+"\n") {
			p.t.Errorf("the API server of %s has %s, want %s", n.Name, got, p.endpoints())
		}
	}
	stored := p.read("cluster/kubeadm-config")
	if own && strings.Contains(stored+p.read("cluster/cluster-info"), "10.60.0.1:") {
		p.t.Errorf("the cluster names the first control plane: %s", stored)
	}
	if !p.stacked {
		if got := strings.Join(etcdEndpoint.FindAllString(stored, -1), ","); got != p.endpoints() {
			p.t.Errorf("joining control planes get the members %s, want %s", got, p.endpoints())
		}
	}
}

// grow adds a new control plane on the last machine, which is empty.
func (p *planesFixture) grow(name string) {
	i := len(p.in.Nodes) - 1
	delete(p.nodes, p.in.Nodes[i].Name)
	p.rename(i, name)
	n := &p.in.Nodes[i]
	n.Roles, n.Set = []string{contract.RoleControlPlane}, ""
	record := p.now()
	record.Nodes = slices.Delete(record.Nodes, i, i+1)
	states := contract.HostStates{}
	for _, m := range record.Nodes {
		states[m.HostUID] = contract.HostUsed
	}
	p.record(string(asJSON(p.t, states)))
	p.installed.Data[contract.KeyInstalled] = string(asJSON(p.t, record))
	p.installed.Data[contract.KeyJoined] = string(asJSON(p.t, session.HostUIDs(record.Nodes)))
	p.disks[i].report, p.machines[i] = machine.Report{}, *n
	p.in.Request.Members, p.in.Request.Installed = record.Nodes, p.in.Request.Installed[:i]
	p.in.Playbook, p.in.Run, p.in.Request.Operation = contract.PlaybookInstall, "edge-1-add-2", contract.OperationAddControlPlane
	p.render()
}

// lose lets the first machine die. Its node is to be replaced, or removed.
func (p *planesFixture) lose() {
	first := p.in.Nodes[0]
	p.servers[0].Stop()
	for _, m := range p.members {
		m.sick = m.sick || m.address == first.Address
	}
	p.nodes[first.Name] = false
	p.in.Request.Lost = []string{first.Name}
}

// render renders the inventory as the task render-inventory does.
func (p *planesFixture) render() {
	p.t.Helper()
	rendered, err := inventory.RenderPinned(p.in.Request, p.in.Nodes, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	p.in.HostsINI, p.in.GroupVars = rendered.HostsINI, rendered.GroupVars
}

func (p *planesFixture) expectMemberAddresses(want ...string) {
	p.t.Helper()
	var got []string
	for _, m := range p.members {
		got = append(got, strings.TrimPrefix(m.address, "10.60.0."))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		p.t.Errorf("members of etcd (-want +got):\n%s", diff)
	}
}
