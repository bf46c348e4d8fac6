//go:build e2e && machine

package e2e

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/test/lab/artifacts"
	"github.com/akraino-icn/bpa/test/lab/fleet"
	"github.com/akraino-icn/bpa/test/lab/server"
	"github.com/akraino-icn/bpa/test/site"
)

// machineLimit bounds one command of the bootstrap machine.
const machineLimit = 15 * time.Minute

// TestMachineIsLost destroys the bootstrap machine of a cluster that is Ready, and restores a backup of just before. Its servers are none
// of the machine's pods, so they live on. They are on the network of a site: pods of the machine reach them with the address of the machine, and
// they find the depot at that address, in the installation too. The cluster is the one of before: its servers agree, nothing was changed on them, it
// gets one worker more, and its own Backup is restored.
func TestMachineIsLost(t *testing.T) {
	m := newLostMachine(t, "e2e-machine", 4)
	r := m.install("edge-43")
	first, old := r.p.UID, kubeconfigOf(t, m.s, r.p)
	r.write(old, "kept")
	r.backup()
	now, pods := m.backup(), systemPods(t, old)

	m.lose(now)
	m.checkFenced(4)
	if out := m.run("attach-hosts"); strings.Count(out, " agrees ") != 4 {
		t.Errorf("hosts that agree, want 4:\n%s", out)
	}
	r.bpa("resume", r.p.Name)
	r.await("managed again", r.nodes...)
	if after := systemPods(t, old); after != pods || r.p.UID != first {
		t.Errorf("Provisioning %s was %s. Pods of the system before the loss:\n%s\nafter the restore:\n%s", r.p.UID, first, pods, after)
	}
	r.grow(2)
	r.write(r.kubeconfig(), "later")
	checkRotation(t, m.s, r.p)
	r.restore("from its own Backup of before the loss", old, "--force")
}

// TestMachineOfAnOlderBackup does the same with a backup that is older than the installation. Nothing touches the servers of the
// cluster, which that backup takes for free. It is adopted, and gets one worker more.
func TestMachineOfAnOlderBackup(t *testing.T) {
	m := newLostMachine(t, "e2e-older", 3)
	empty := m.backup()
	r := m.install("edge-44")
	first, nodes := r.p.UID, hostsByNode(r.p)
	file, pods := writeManifest(t, r.p), systemPods(t, r.kubeconfig())

	m.lose(empty)
	m.checkFenced(3)
	if out := m.run("attach-hosts"); strings.Count(out, " newer ") != 2 || strings.Count(out, " agrees ") != 1 {
		t.Errorf("hosts, want 2 that are newer and 1 that agrees:\n%s", out)
	}
	m.checkFenced(2)
	r.as(m.s.Admin()).bpa("adopt", r.p.Name, "-f", file, "--yes", "--wait", "--timeout="+r.limit.String())
	r.adopted(string(first), nodes)
	if after := systemPods(t, r.kubeconfig()); after != pods { // the adoption has revoked the kubeconfigs of before
		t.Errorf("pods of the system before the loss:\n%s\nafter the adoption:\n%s", pods, after)
	}
	m.run("attach-hosts")
	m.checkFenced(0)
	r.grow(2)
}

// install installs a cluster with a control plane and a worker.
func (m *lostMachine) install(name string) *restoreStory {
	m.t.Helper()
	r := &restoreStory{life: &life{t: m.t, s: m.s, limit: 45 * time.Minute}, nodes: []string{"master-1", "pool-1"}}
	m.s.Apply(m.s.Provisioning(name, masters(1), pool(1)))
	r.await("installed", r.nodes...)
	return r
}

// grow adds a worker, the nth one.
func (r *restoreStory) grow(n int32) {
	r.t.Helper()
	r.edit(pool(n))
	r.nodes = append(r.nodes, fmt.Sprintf("pool-%d", n))
	r.await("one worker more", r.nodes...)
}

// lostMachine is a bootstrap machine that is destroyed and restored, with servers that outlive it.
type lostMachine struct {
	t       *testing.T
	s       *site.Site
	servers map[string]*server.Server
	backups string // folder
	key     string // file with the key of the backups
}

// newLostMachine starts servers, registers them, and sets up backups of the machine.
func newLostMachine(t *testing.T, namespace string, servers int) *lostMachine {
	t.Helper()
	m := &lostMachine{t: t, servers: map[string]*server.Server{}, backups: t.TempDir(), key: filepath.Join(t.TempDir(), "machine.key")}
	recipient := m.lineOf("age1", "backup", "key", m.key)
	m.run("backup", "configure", "--recipient", recipient, "--to", m.backups, "--same-disk")
	m.s = site.NewWith(t, namespace, func(s *site.Site) site.Runner {
		f := &fleet.Fleet{Client: s.WithWatch, Namespace: s.Pool, Log: t.Output()}
		m.start(f, fleet.Shapes(servers, 0))
		return func(host, command string) (string, error) { return m.servers[host].Run(context.Background(), command) }
	})
	return m
}

// start runs a server for each shape, and registers it.
func (m *lostMachine) start(f *fleet.Fleet, shapes []fleet.Shape) {
	m.t.Helper()
	ctx, disks := m.t.Context(), m.t.TempDir()
	login, err := f.Prepare(ctx)
	if err != nil {
		m.t.Fatal(err)
	}
	if err := server.Unpack(ctx, artifacts.NodeImage("10.60.0.1:5000"), disks); err != nil {
		m.t.Fatal(err)
	}
	for i, shape := range shapes {
		one, err := server.Start(ctx, disks, shape.Name, fmt.Sprintf("192.0.2.%d", 20+i), login.PublicKey())
		if err != nil {
			m.t.Fatal(err)
		}
		m.servers[shape.Name] = one
		m.t.Cleanup(func() {
			if err := one.Remove(context.Background()); err != nil {
				m.t.Log(err)
			}
		})
		if err := f.Register(ctx, shape, one.MAC, one.Address); err != nil {
			m.t.Fatal(err)
		}
	}
}

// backup backs the machine up and returns the file.
func (m *lostMachine) backup() string {
	m.t.Helper()
	return m.lineOf(m.backups, "backup")
}

// lose destroys the machine and restores it from a file. Its link to the servers stays, and the file has the networks of the site.
func (m *lostMachine) lose(file string) {
	m.t.Helper()
	begin := time.Now()
	id := strings.Fields(m.lineOf("Machine ", "status"))[1]
	m.run("destroy", "--yes", id)
	m.run("restore", file, "--identity", m.key)
	m.run("up", "--no-backup")
	for _, s := range m.servers {
		m.awaitSSH(s)
	}
	m.t.Logf("destroyed and restored in %s", time.Since(begin).Round(time.Second))
}

// awaitSSH waits until the machine reaches a server: until then, attach-hosts calls it silent.
func (m *lostMachine) awaitSSH(s *server.Server) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), time.Minute)
	defer cancel()
	for try := time.NewTicker(200 * time.Millisecond); ; <-try.C {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(s.Address, "22"))
		if err == nil {
			_ = conn.Close() // nothing was sent
			return
		}
		if ctx.Err() != nil {
			m.t.Fatalf("the machine does not reach server %s: %v", s.Name, err)
		}
	}
}

// checkFenced checks that this number of hosts waits until somebody attaches them: neither Metal3 nor BPA changes them.
func (m *lostMachine) checkFenced(want int) {
	m.t.Helper()
	var hosts metal3.BareMetalHostList
	if err := m.s.Admin().List(context.Background(), &hosts, client.InNamespace(m.s.Pool)); err != nil {
		m.t.Fatal(err)
	}
	var fenced []string
	for _, h := range hosts.Items {
		_, detached := h.Annotations[metal3.DetachedAnnotation]
		_, paused := h.Annotations[metal3.PausedAnnotation]
		if detached && paused {
			fenced = append(fenced, h.Name)
		}
	}
	if slices.Sort(fenced); len(fenced) != want {
		m.t.Errorf("hosts that are detached and paused: %v, want %d", fenced, want)
	}
}

// run runs a command of the bootstrap machine in the checkout, and returns what it prints.
func (m *lostMachine) run(args ...string) string {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), machineLimit)
	defer cancel()
	command := exec.CommandContext(ctx, filepath.Join(site.State(), "bin", "machine"), args...)
	command.Dir = "../.."
	out, err := command.CombinedOutput()
	m.t.Logf("machine %s\n%s", strings.Join(args, " "), out)
	if err != nil {
		m.t.Fatalf("machine %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

// lineOf returns the line of a command's output that begins with a text.
func (m *lostMachine) lineOf(begin string, args ...string) string {
	m.t.Helper()
	for line := range strings.Lines(m.run(args...)) {
		if strings.HasPrefix(line, begin) {
			return strings.TrimSpace(line)
		}
	}
	m.t.Fatalf("machine %s printed no line with %s", strings.Join(args, " "), begin)
	return ""
}
