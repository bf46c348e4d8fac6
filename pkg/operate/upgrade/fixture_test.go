package upgrade_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/upgrade"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
)

// upgrading is a fixture of an installed cluster whose nodes are upgraded from 1.34.3 to 1.35.4.
type upgrading struct {
	*kubespraytest.Planes
	kubelets map[string]string // versions by the name of the node
	servers  map[string]string // versions of the API servers by the address of the node
	etcdNow  string            // version of etcd
	beats    int
	silent   map[string]bool // nodes without heartbeats
	// playing is called for each node that the playbook upgrades; false: the playbook fails there.
	playing func(name string) bool
	// workloads are objects of the cluster, by their names as in workload.String.
	workloads map[string]*fakeWorkload
	leaders   int // grows with each renewal of the controller manager's lease; negative: it stays
	// rebooting counts, for each machine, how often it is asked for its boot before it has booted
	// again. onReboot returns the exit status of the command to reboot.
	rebooting map[int]int
	onReboot  func(i int) int
}

// newUpgrading returns a cluster with control plane nodes, of which each is a member of etcd, and
// workers.
func newUpgrading(t *testing.T, stacked bool, masters, workers int, nodes ...string) *upgrading {
	u := &upgrading{Planes: kubespraytest.NewPlanes(t, stacked, masters, workers, masters), kubelets: map[string]string{}, servers: map[string]string{}, etcdNow: "3.5.30", silent: map[string]bool{}, workloads: map[string]*fakeWorkload{}}
	u.playing = func(string) bool { return true }
	for _, n := range u.Machines {
		u.kubelets[n.Name], u.servers[n.Address] = "1.34.3", "1.34.3"
	}
	record := u.Now()
	record.Request.KubernetesVersion = "1.34.3"
	u.Installed.Data[contract.KeyInstalled] = string(kubespraytest.JSON(t, record))
	r := &u.In.Request
	r.Members, r.KubernetesVersion, r.Operation = record.Nodes, "1.35.4", contract.OperationUpgradeNodes
	if strings.HasPrefix(nodes[0], "master") {
		r.Operation = contract.OperationUpgradeControlPlane
	}
	r.Upgrade = &contract.Upgrade{Nodes: nodes, From: "1.34.3", Path: []string{"1.35.4"}, DrainSeconds: 60}
	u.In.Playbook, u.In.Run = contract.PlaybookUpgrade, "edge-1-upgrade-2"
	u.Render()
	content := []byte("the content of etcd")
	sum := sha256.Sum256(content)
	u.Write("cluster/etcd.db", string(content)+string(sum[:]))
	u.Write("bin/etcdctl", "#!/bin/sh\nset -eu\nfor last; do :; done\n[ ! -e \"$C/etcd-fails\" ] || { echo no space left >&2; exit 1; }\ncp \"$C/etcd.db\" \"$last\"\n")
	kubectl := strings.Replace(u.Read("bin/kubectl"), "*) echo", "*\" exec etcd-\"*\" snapshot save \"*) exec \"$B/etcdctl\" \"$@\";;\n*) echo", 1)
	u.Write("bin/kubectl", kubectl)
	u.Write("bin/df", "#!/bin/sh\nprintf 'x\\n/dev/x 9 9 %s 1%% /\\n' \"$(cat \"$C/free\")\"\n")
	u.Write("cluster/free", "99999999")
	u.Scripts, u.Play, u.Fixture.Etcd = u.saves, u.playbook, u.status
	u.More, u.EachNode, u.API.Version = u.objects, u.kubelet, u.serverVersion
	u.etcdNext("3.6.10")
	return u
}

func (u *upgrading) kubelet(n *corev1.Node) {
	n.Status.NodeInfo.KubeletVersion = "v" + u.kubelets[n.Name]
}

// serverVersion returns the version of the API server at an address.
func (u *upgrading) serverVersion(host string) string {
	u.Mu.Lock()
	defer u.Mu.Unlock()
	if own, found := u.servers[host]; found {
		return "v" + own
	}
	return "v" + slices.Collect(maps.Values(u.servers))[0] // the only one, at 127.0.0.1
}

func (u *upgrading) status(command string, stdout io.Writer) int {
	if !strings.Contains(command, " endpoint status --cluster ") {
		return u.Etcdctl(command, stdout)
	}
	var all []string
	for _, m := range u.Members {
		if !m.Sick {
			all = append(all, fmt.Sprintf(`{"Endpoint":"https://%s:2379","Status":{"version":%q,"dbSize":20480}}`, m.Address, u.etcdNow))
		}
	}
	fmt.Fprintf(stdout, "[%s]", strings.Join(all, ","))
	return 0
}

// saves really runs the script that saves etcd.
func (u *upgrading) saves(i int, command string, stdout, stderr io.Writer) (int, bool) {
	if !strings.Contains(command, upgrade.SnapshotFolder) {
		if status, known := u.patches(i, command, stdout, stderr); known {
			return status, true
		}
		return u.Script(i, command, stdout, stderr)
	}
	if strings.Contains(command, " snapshot save ") {
		if status := u.Change("snapshot "+u.Machines[i].Name, true); status != 0 {
			return status, true
		}
	}
	script := strings.TrimSuffix(strings.TrimPrefix(command, "sh -c '"), "'")
	at := filepath.Join(u.Dir, fmt.Sprintf("machine-%d", i+1))
	if u.Stacked {
		_ = os.MkdirAll(filepath.Join(at, "var/lib/etcd"), 0o700)
	}
	for _, path := range []string{"/var/backups/", "/var/lib/etcd"} {
		script = strings.ReplaceAll(script, path, at+path)
	}
	return u.Sh(i, script, stdout, stderr), true
}

// snapshots returns the names of the snapshots on a machine.
func (u *upgrading) snapshots(i int) (names []string) {
	at := filepath.Join(u.Dir, fmt.Sprintf("machine-%d", i+1), upgrade.SnapshotFolder)
	files, _ := os.ReadDir(at)
	for _, f := range files {
		names = append(names, f.Name())
	}
	return names
}

// playbook is kubespray: it upgrades the nodes of --limit.
func (u *upgrading) playbook(c process.Command, stdout, stderr io.Writer) int {
	name := c.Args[len(c.Args)-1]
	limit := strings.Split(c.Args[slices.Index(c.Args, "--limit")+1], ",")
	if status := u.Change(name+" "+strings.Join(limit, ","), true); status != 0 {
		return status
	}
	for _, n := range u.Machines {
		if !slices.Contains(limit, n.Name) {
			continue
		}
		if !u.playing(n.Name) {
			return kubespraytest.Recorded("failed", 2)(c, stdout, stderr)
		}
		u.Mu.Lock()
		u.kubelets[n.Name] = u.In.Request.KubernetesVersion
		if slices.Contains(n.Roles, contract.RoleControlPlane) {
			u.servers[n.Address] = u.In.Request.KubernetesVersion
		}
		u.Mu.Unlock()
	}
	return kubespraytest.Recorded("green", 0)(c, stdout, stderr)
}

// expectLevels checks the nodes of the record that are not at the version of its request.
func (u *upgrading) expectLevels(request string, want map[string]string) {
	u.T.Helper()
	record, got := u.Now(), map[string]string{}
	for _, n := range record.Nodes {
		if n.Version != "" {
			got[n.Name] = n.Version
		}
		if n.Target != nil {
			got[n.Name] += ">" + n.Target.Version
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || record.Request.KubernetesVersion != request {
		u.T.Errorf("record of Kubernetes %s, nodes with another version (-want +got):\n%s\n%s", record.Request.KubernetesVersion, diff, &u.Log)
	}
}

// setLevels stores the versions of nodes in the record.
func (u *upgrading) setLevels(versions map[string]string) {
	record := u.Now()
	for i, n := range record.Nodes {
		record.Nodes[i].Version, record.Nodes[i].Target = versions[n.Name], nil
	}
	u.Installed.Data[contract.KeyInstalled] = string(kubespraytest.JSON(u.T, record))
	maps.Copy(u.kubelets, versions)
}

// extraVars returns the extra variables of the last playbook.
func (u *upgrading) extraVars() (all map[string]any) {
	u.T.Helper()
	text, err := os.ReadFile(filepath.Join(u.In.ScratchDir, "extra-vars.json"))
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		u.T.Fatal(err)
	}
	return all
}

// etcdNext lets the playbooks install this version of etcd; empty: they fail.
func (u *upgrading) etcdNext(version string) {
	inner := u.Play
	u.Play = func(c processCommand, stdout, stderr io.Writer) int {
		if !strings.HasSuffix(c.Args[len(c.Args)-1], "/etcd-version.yml") {
			return inner(c, stdout, stderr)
		}
		if version == "" {
			return 4
		}
		at, _ := u.extraVars()["bpa_result"].(string)
		if err := os.WriteFile(at, []byte(version), 0o600); err != nil {
			u.T.Error(err)
		}
		return 0
	}
}

// killed runs the task and kills it before its n-th change. It returns false if the task has fewer
// changes.
func (u *upgrading) killed(n int) bool {
	u.KillAt = n
	ctx, cancel := context.WithTimeout(u.T.Context(), 20*time.Second)
	defer cancel()
	u.Kill = cancel
	_, err := kubespray.Run(ctx, u.In, u.Living.Ports())
	u.KillAt = 0
	return err != nil
}

func (u *upgrading) played(playbook string) bool {
	return slices.ContainsFunc(u.Did, func(what string) bool { return strings.HasPrefix(what, playbook) })
}

func (u *upgrading) remove(name string) {
	if err := os.Remove(filepath.Join(u.Dir, name)); err != nil {
		u.T.Fatal(err)
	}
}

type processCommand = process.Command

func vars(text string) (all map[string]json.RawMessage) {
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		panic(err)
	}
	return all
}

// expectDid checks the changes, without the marks on the machines, which are written in parallel.
func (u *upgrading) expectDid(want ...string) {
	u.T.Helper()
	u.Did = slices.DeleteFunc(u.Did, func(what string) bool { return strings.HasPrefix(what, "mark ") })
	if len(u.Did) == 0 {
		u.Did = nil
	}
	u.Living.ExpectDid(want...)
}
