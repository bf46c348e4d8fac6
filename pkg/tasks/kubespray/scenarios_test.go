package kubespray

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session/sessiontest"
	"github.com/akraino-icn/bpa/pkg/tasks/etcd"
)

// retry is a fixture after a failed attempt of the same Provisioning: every machine has something of
// a node. It records which nodes and members of etcd are removed.
type retry struct {
	*fixture
	mu      sync.Mutex
	removed []string
	etcd    string // output of "member list"
	health  string // output of "endpoint health"
}

// newRetry returns a retry with this number of control planes, and then workers.
func newRetry(t *testing.T, masters, workers int) *retry {
	r := &retry{fixture: newFixture(t, masters+workers-1)}
	for i := range r.in.Nodes {
		if n := &r.in.Nodes[i]; i < masters {
			n.Name, n.Roles = fmt.Sprintf("master-%d", i+1), []string{contract.RoleControlPlane}
		} else {
			n.Name = fmt.Sprintf("worker-%d", i-masters+1)
		}
		r.disks[i].with(r.in.Request.UID)
	}
	r.nodes = func(command string, _ io.Writer) int {
		_, rest, _ := strings.Cut(command, " delete node ")
		name, _, _ := strings.Cut(rest, " ")
		r.remove("node " + name)
		return 0
	}
	r.fixture.etcd = func(command string, stdout io.Writer) int {
		switch {
		case strings.HasPrefix(command, "test -s /etc/ssl/etcd/ssl/admin-"):
		case strings.HasPrefix(command, "test -s "):
			return 1
		case strings.Contains(command, " member list "):
			fmt.Fprint(stdout, r.etcd)
		case strings.Contains(command, " endpoint health --cluster "):
			fmt.Fprint(stdout, r.health)
			return 1 // one member is not healthy
		case strings.Contains(command, " member remove "):
			_, rest, _ := strings.Cut(command, " member remove ")
			id, _, _ := strings.Cut(rest, " ")
			r.remove("member " + id)
		}
		return 0
	}
	return r
}

// newLeaving returns a cluster with control planes and two workers, from which one control plane
// leaves.
func newLeaving(t *testing.T, stacked bool, masters int, name string) *planesFixture {
	p := newPlanes(t, stacked, masters, 2, masters)
	p.in.Request.Operation = contract.OperationRemoveControlPlane
	p.in.Request.Remove = &contract.Removal{Nodes: []string{name}, DrainSeconds: 60}
	return p
}

// newReplacement returns a fixture of an installed cluster: master-1 and the workers. Then the last
// worker got a new host, and is to be added.
func newReplacement(t *testing.T, workers int) *fixture {
	w := newFixture(t, workers)
	w.in.Request.Complete = true
	all := w.in.Nodes
	w.in.Nodes = all[:len(all)-1]
	if _, err := w.run(); err != nil {
		t.Fatal(err)
	}
	w.stay(w.in.Nodes...)
	w.in.Nodes = all
	w.in.Playbook = contract.PlaybookScale
	w.ran, w.done = nil, map[int]int{}
	w.log.Reset()
	for i := range w.servers {
		w.done[i] = len(w.servers[i].Commands())
	}
	w.cluster = func(int) string {
		return sessiontest.List(sessiontest.NodeJSON("master-1", "True", ""), sessiontest.NodeJSON("worker-1", "True", ""))
	}
	return w
}

// newReplacedPlane returns a cluster with three control planes and a worker. The first control plane
// is lost, and its name has a new machine.
func newReplacedPlane(t *testing.T, stacked bool) *planesFixture {
	p := newPlanes(t, stacked, 3, 2, 3)
	members := p.in.Request.Members
	p.grow("master-1-new")
	members = members[:len(members)-1]
	p.lose()
	last := len(p.in.Nodes) - 1
	p.in.Nodes[last].Name, p.machines[last].Name = "master-1", "master-1"
	p.disks[last].before = p.disks[0].before
	p.in.Request.Members = members
	p.in.Nodes = slices.Delete(slices.Clone(p.in.Nodes), 0, 1)
	p.render()
	p.write("machine-3/etc/kubernetes/kubelet.conf", "    server: https://10.60.0.1:6443\n")
	if stacked {
		return p
	}
	p.write("machine-2"+etcd.HostCertificates+"member-master-1.pem", "old")
	return p
}

// changesOnly returns what was changed, without the marks on machines.
func (p *planesFixture) changesOnly() []string {
	return slices.DeleteFunc(slices.Clone(p.did), func(what string) bool { return strings.HasPrefix(what, "mark ") })
}

func (r *retry) remove(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.removed = append(r.removed, what)
}

// sees lets every control plane report these nodes.
func (r *retry) sees(nodes ...string) {
	r.cluster = func(int) string { return sessiontest.List(nodes...) }
}

// members lets etcd have a member on each of the first n machines. Their IDs are hexadecimal a1, a2
// and so on. The given members are not healthy.
func (r *retry) members(n int, sick ...int) {
	var all, health []string
	for i := 1; i <= n; i++ {
		all = append(all, fmt.Sprintf(`{"ID":%d,"name":"etcd%d","peerURLs":["https://127.0.0.%d:2380"],"clientURLs":["https://127.0.0.%d:2379"]}`, 0xa0+i, i, i, i))
		health = append(health, fmt.Sprintf(`{"endpoint":"https://127.0.0.%d:2379","health":%t}`, i, !slices.Contains(sick, i)))
	}
	r.etcd, r.health = `{"members":[`+strings.Join(all, ",")+`]}`, "["+strings.Join(health, ",")+"]"
}

// reset returns the nodes whose machines were cleaned, and those to which reset.yml was limited.
func (r *retry) reset() (cleaned, limited []string) {
	for i, d := range r.disks {
		if slices.Contains(d.changes(), "clean") {
			cleaned = append(cleaned, r.in.Nodes[i].Name)
		}
	}
	for _, c := range r.ran {
		if i := slices.Index(c.Args, "--limit"); i > 0 && c.Args[len(c.Args)-1] == contract.PlaybookReset {
			limited = append(limited, strings.Split(c.Args[i+1], ",")...)
		}
	}
	return cleaned, limited
}

func (r *retry) expectReset(want ...string) {
	r.t.Helper()
	cleaned, limited := r.reset()
	if diff := cmp.Diff(want, cleaned); diff != "" {
		r.t.Errorf("cleaned (-want +got):\n%s\n%s", diff, &r.log)
	}
	if diff := cmp.Diff(want, limited); diff != "" {
		r.t.Errorf("reset.yml ran on (-want +got):\n%s", diff)
	}
}
