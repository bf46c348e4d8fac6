package kubespraytest

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

// Retry is a fixture after a failed attempt of the same Provisioning: every machine has something of
// a node. It records which nodes and members of etcd are removed.
type Retry struct {
	*Fixture
	mu      sync.Mutex
	Removed []string
	Etcd    string // output of "member list"
	Health  string // output of "endpoint health"
}

// NewRetry returns a retry with this number of control planes, and then workers.
func NewRetry(t *testing.T, masters, workers int) *Retry {
	r := &Retry{Fixture: New(t, masters+workers-1)}
	for i := range r.In.Nodes {
		if n := &r.In.Nodes[i]; i < masters {
			n.Name, n.Roles = fmt.Sprintf("master-%d", i+1), []string{contract.RoleControlPlane}
		} else {
			n.Name = fmt.Sprintf("worker-%d", i-masters+1)
		}
		r.Disks[i].With(r.In.Request.UID)
	}
	r.Nodes = func(command string, _ io.Writer) int {
		_, rest, _ := strings.Cut(command, " delete node ")
		name, _, _ := strings.Cut(rest, " ")
		r.remove("node " + name)
		return 0
	}
	r.Fixture.Etcd = func(command string, stdout io.Writer) int {
		switch {
		case strings.HasPrefix(command, "test -s /etc/ssl/etcd/ssl/admin-"):
		case strings.HasPrefix(command, "test -s "):
			return 1
		case strings.Contains(command, " member list "):
			fmt.Fprint(stdout, r.Etcd)
		case strings.Contains(command, " endpoint health --cluster "):
			fmt.Fprint(stdout, r.Health)
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

// NewLeaving returns a cluster with control planes and two workers, from which one control plane
// leaves.
func NewLeaving(t *testing.T, stacked bool, masters int, name string) *Planes {
	p := NewPlanes(t, stacked, masters, 2, masters)
	p.In.Request.Operation = contract.OperationRemoveControlPlane
	p.In.Request.Remove = &contract.Removal{Nodes: []string{name}, DrainSeconds: 60}
	return p
}

// NewReplacement returns a fixture of an installed cluster: master-1 and the workers. Then the last
// worker got a new host, and is to be added.
func NewReplacement(t *testing.T, workers int) *Fixture {
	w := New(t, workers)
	w.In.Request.Complete = true
	all := w.In.Nodes
	w.In.Nodes = all[:len(all)-1]
	if _, err := w.Run(); err != nil {
		t.Fatal(err)
	}
	w.Stay(w.In.Nodes...)
	w.In.Nodes = all
	w.In.Playbook = contract.PlaybookScale
	w.Ran, w.Done = nil, map[int]int{}
	w.Log.Reset()
	for i := range w.Servers {
		w.Done[i] = len(w.Servers[i].Commands())
	}
	w.Cluster = func(int) string {
		return sessiontest.List(sessiontest.NodeJSON("master-1", "True", ""), sessiontest.NodeJSON("worker-1", "True", ""))
	}
	return w
}

// NewReplacedPlane returns a cluster with three control planes and a worker. The first control plane
// is lost, and its name has a new machine.
func NewReplacedPlane(t *testing.T, stacked bool) *Planes {
	p := NewPlanes(t, stacked, 3, 2, 3)
	members := p.In.Request.Members
	p.Grow("master-1-new")
	members = members[:len(members)-1]
	p.Lose()
	last := len(p.In.Nodes) - 1
	p.In.Nodes[last].Name, p.Machines[last].Name = "master-1", "master-1"
	p.Disks[last].Before = p.Disks[0].Before
	p.In.Request.Members = members
	p.In.Nodes = slices.Delete(slices.Clone(p.In.Nodes), 0, 1)
	p.Render()
	p.Write("machine-3/etc/kubernetes/kubelet.conf", "    server: https://10.60.0.1:6443\n")
	if stacked {
		return p
	}
	p.Write("machine-2"+etcd.HostCertificates+"member-master-1.pem", "old")
	return p
}

// ChangesOnly returns what was changed, without the marks on machines.
func (p *Planes) ChangesOnly() []string {
	return slices.DeleteFunc(slices.Clone(p.Did), func(what string) bool { return strings.HasPrefix(what, "mark ") })
}

func (r *Retry) remove(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Removed = append(r.Removed, what)
}

// Sees lets every control plane report these nodes.
func (r *Retry) Sees(nodes ...string) {
	r.Cluster = func(int) string { return sessiontest.List(nodes...) }
}

// Members lets etcd have a member on each of the first n machines. Their IDs are hexadecimal a1, a2
// and so on. The given members are not healthy.
func (r *Retry) Members(n int, sick ...int) {
	var all, health []string
	for i := 1; i <= n; i++ {
		all = append(all, fmt.Sprintf(`{"ID":%d,"name":"etcd%d","peerURLs":["https://127.0.0.%d:2380"],"clientURLs":["https://127.0.0.%d:2379"]}`, 0xa0+i, i, i, i))
		health = append(health, fmt.Sprintf(`{"endpoint":"https://127.0.0.%d:2379","health":%t}`, i, !slices.Contains(sick, i)))
	}
	r.Etcd, r.Health = `{"members":[`+strings.Join(all, ",")+`]}`, "["+strings.Join(health, ",")+"]"
}

// Reset returns the nodes whose machines were cleaned, and those to which reset.yml was limited.
func (r *Retry) Reset() (cleaned, limited []string) {
	for i, d := range r.Disks {
		if slices.Contains(d.Changes(), "clean") {
			cleaned = append(cleaned, r.In.Nodes[i].Name)
		}
	}
	for _, c := range r.Ran {
		if i := slices.Index(c.Args, "--limit"); i > 0 && c.Args[len(c.Args)-1] == contract.PlaybookReset {
			limited = append(limited, strings.Split(c.Args[i+1], ",")...)
		}
	}
	return cleaned, limited
}

// ExpectReset checks on the machines of which nodes reset.yml ran, and that the same ones were cleaned.
func (r *Retry) ExpectReset(want ...string) {
	r.T.Helper()
	cleaned, limited := r.Reset()
	if diff := cmp.Diff(want, cleaned); diff != "" {
		r.T.Errorf("cleaned (-want +got):\n%s\n%s", diff, &r.Log)
	}
	if diff := cmp.Diff(want, limited); diff != "" {
		r.T.Errorf("reset.yml ran on (-want +got):\n%s", diff)
	}
}
