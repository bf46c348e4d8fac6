package adopt

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/admission"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/change"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/contract/from"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/machine"
	"github.com/akraino-icn/bpa/pkg/machine/machinetest"
	"github.com/akraino-icn/bpa/pkg/settings"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/ssh/sshtest"
	"github.com/akraino-icn/bpa/pkg/survey"
)

// world is a site with a cluster whose objects are lost.
type world struct {
	*testing.T
	ca *machinetest.CA
	in Input
}

var edge = contract.User{Namespace: "site", Name: "edge-1", UID: "first"}

// newWorld returns a cluster of three control planes and two workers, on host-1 to host-5, and a free host-6. etcd's members have
// other numbers than the control planes.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, ca: machinetest.NewCA(t, time.Now())}
	w.in = Input{User: edge, SSH: v1alpha1.SSHSpec{User: "root", Port: 22, SecretName: "ssh-key"}, Request: request}
	c := &w.in.Cluster
	*c = Cluster{CA: machine.Certificates([]byte(w.ca.PEM)), Version: "1.35.4", PodSubnet: "10.244.64.0/18", ServiceSubnet: "10.233.0.0/18", DNSDomain: "cluster.local",
		Name: "cluster.local", NetworkPlugin: "flannel"}
	for i, name := range []string{"master-1", "master-2", "master-3", "worker-1", "pool-1"} {
		roles := []string{contract.RoleWorker}
		if strings.HasPrefix(name, "master") {
			roles = []string{contract.RoleControlPlane}
			c.Members = append(c.Members, Member{Name: fmt.Sprintf("etcd%d", []int{4, 2, 3}[i]), PeerURLs: []string{fmt.Sprintf("https://10.0.0.%d:2380", i+1)}})
		}
		c.Nodes = append(c.Nodes, Node{Name: name, Version: "1.35.4", Roles: roles, Addresses: []string{fmt.Sprintf("10.0.0.%d", i+1)}})
		w.in.Servers = append(w.in.Servers, w.server(i+1, name))
	}
	w.in.Servers = append(w.in.Servers, w.server(6, ""))
	return w
}

// server returns host-N, on which a node is; an empty name: none.
func (w *world) server(n int, node string) Server {
	mac, ip := fmt.Sprintf("02:00:00:00:00:%02x", n), netip.MustParseAddr(fmt.Sprintf("10.0.0.%d", n))
	key, _ := sshtest.NewKey(w.T)
	s := Server{Host: hosts.Host{Name: fmt.Sprintf("host-%d", n), UID: fmt.Sprintf("uid-%d", n), MACs: []string{mac}, NICs: []hosts.NIC{{MAC: mac, IPs: []netip.Addr{ip}, Boot: true}}}}
	s.Answer = survey.Answer{At: ip.String() + ":22", Address: ip.String(), Key: key.PublicKey(), Identity: machine.Identity{Name: node, MACs: []string{mac}}}
	if node != "" {
		s.Answer.User, s.Answer.Kubernetes = edge, []string{"process kubelet (7)"}
		s.Answer.Member = machine.Membership{CA: machine.Certificates([]byte(w.ca.PEM)), Kubelet: machine.Certificates([]byte(w.ca.Kubelet(w.T, node)))[0],
			ControlPlane: strings.HasPrefix(node, "master")}
	}
	return s
}

func request(p *v1alpha1.Provisioning) (contract.Request, error) {
	p = p.DeepCopy()
	p.SetDefaults(context.Background())
	return from.Provisioning(p, settings.Depot{})
}

const manifest = `metadata: {namespace: site, name: edge-1}
spec:
  masters: [{master-1: {cpu: 8}}, {master-2: {cpu: 8}}, {master-3: {cpu: 8}}]
  workers: [{worker-1: {cpu: 4}}]
  nodeSets: [{name: pool, count: {active: 1, standby: 1}}]
  PodSubnet: 10.244.64.0/18
  kubernetes: {version: 1.35.4}
  kubespray: {vars: {x: 1}}
`

// file sets the Provisioning of the user.
func (w *world) file(edits ...string) {
	w.Helper()
	p := &v1alpha1.Provisioning{}
	if err := yaml.UnmarshalStrict([]byte(strings.NewReplacer(edits...).Replace(manifest)), p); err != nil {
		w.Fatal(err)
	}
	p.SetDefaults(context.Background())
	w.in.Provisioning = p
}

func (w *world) make() Plan {
	w.Helper()
	p, err := Make(w.in)
	if err != nil {
		w.Fatal(err)
	}
	return p
}

// expect checks the rows, as "host standing node".
func (w *world) expect(p Plan, rows []string, problems ...string) {
	w.Helper()
	var got []string
	for _, r := range p.Rows {
		got = append(got, strings.TrimSpace(fmt.Sprint(r.Host, " ", r.Standing, " ", r.Node)))
	}
	if diff := cmp.Diff(rows, got); diff != "" {
		w.Errorf("rows (-want +got):\n%s\n%+v", diff, p.Rows)
	}
	if len(p.Problems) != len(problems) {
		w.Fatalf("problems are %q, want %q", p.Problems, problems)
	}
	for i, want := range problems {
		if !strings.Contains(p.Problems[i], want) {
			w.Errorf("the problem %q does not contain %q", p.Problems[i], want)
		}
	}
}

var all = []string{"host-1 agrees master-1", "host-2 agrees master-2", "host-3 agrees master-3", "host-4 agrees worker-1", "host-5 agrees pool-1", "host-6 free"}

func with(n int, row string) []string {
	rows := append([]string(nil), all...)
	rows[n-1] = row
	return rows
}

// TestThreeControlPlanes: the record of a cluster, with the manifest that the user still has.
func TestThreeControlPlanes(t *testing.T) {
	w := newWorld(t)
	w.file()
	p := w.make()
	w.expect(p, all)
	var got []string
	for _, n := range p.Record.Nodes {
		got = append(got, fmt.Sprintf("%s/%s %s %s %s%s %v", n.Name, n.Set, n.Host, n.Address, n.Etcd, n.Version, n.Roles))
	}
	want := []string{"master-2/ host-2 10.0.0.2 etcd2 [control-plane]", "master-3/ host-3 10.0.0.3 etcd3 [control-plane]", "master-1/ host-1 10.0.0.1 etcd4 [control-plane]",
		"pool-1/pool host-5 10.0.0.5  [worker]", "worker-1/ host-4 10.0.0.4  [worker]"}
	if diff := cmp.Diff(want, got); diff != "" || p.Record.EtcdNext != 5 {
		t.Errorf("etcdNext %d, nodes (-want +got):\n%s", p.Record.EtcdNext, diff)
	}
	if len(p.Hosts) != 5 || p.Hosts["uid-6"] != "" || len(p.Pins) != 5 || p.Pins.Of("uid-3") == nil || len(p.Claimed) != 5 || p.Claimed[0].Etcd != "" {
		t.Errorf("states %v, %d pins, claimed %+v", p.Hosts, len(p.Pins), p.Claimed)
	}
	if diff := cmp.Diff([]string{"claim standby hosts"}, p.Next); diff != "" || p.Pause {
		t.Errorf("paused %t, next (-want +got):\n%s", p.Pause, diff)
	}
	if string(p.Record.Request.Vars["x"]) != "1" || p.Record.Request.Settings() != requestOf(t, w.in.Provisioning).Settings() {
		t.Error("the nodes do not have the variables of the file, so that BPA would drain them")
	}
}

func requestOf(t *testing.T, p *v1alpha1.Provisioning) contract.Request {
	t.Helper()
	r, err := request(p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestDerived: without a manifest, the Provisioning pins each node to its host, and BPA changes nothing.
func TestDerived(t *testing.T) {
	w := newWorld(t)
	w.in.Cluster.DNSDomain = "edge.local"
	p := w.make()
	w.expect(p, all)
	r := requestOf(t, p.Provisioning)
	state := change.State{Installed: p.Record, Wanted: r}
	if step, changes := change.Next(state); changes || len(change.Refused(state)) > 0 || len(p.Next) > 0 {
		t.Errorf("BPA would %s; refused %+v; next %q", step, change.Refused(state), p.Next)
	}
	if len(r.Slots) != 5 || r.Slots[0].MAC != "02:00:00:00:00:02" || string(r.Vars["dns_domain"]) != `"edge.local"` || r.Vars["cluster_name"] != nil || r.SSHUser != "root" {
		t.Errorf("request %+v", r)
	}
	if err := admission.CheckProvisioning(t.Context(), p.Provisioning); err != nil {
		t.Errorf("the webhook would reject it: %v", err)
	}
	if len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "not known") {
		t.Errorf("notes %q", p.Notes)
	}
}

// TestRows: what keeps a cluster from being adopted, and what does not.
func TestRows(t *testing.T) {
	for name, tc := range map[string]struct {
		change   func(*world)
		rows     []string
		problems []string
	}{
		"a node without a host": {func(w *world) { w.in.Servers = w.in.Servers[:4] }, all[:4], []string{"node pool-1 (10.0.0.5) of the cluster has no host"}},
		"a host was exchanged: another machine answers": {func(w *world) { w.in.Servers[4].Answer.Identity.MACs = []string{"02:00:00:00:00:99"} }, with(5, "host-5 disagrees"),
			[]string{"host host-5 has its address, and its server disagrees (another machine answers"}},
		"a host was exchanged: a new machine": {func(w *world) { w.in.Servers[4] = w.server(5, "") }, with(5, "host-5 free"), []string{"its server has no cluster"}},
		"another cluster": {func(w *world) {
			w.in.Servers[5] = w.server(6, "x")
			w.in.Servers[5].Answer.User = contract.User{Namespace: "site", Name: "edge-2", UID: "9"}
		},
			with(6, "host-6 other"), nil},
		"a node that has left": {func(w *world) { w.in.Servers[5] = w.server(6, "worker-9") }, with(6, "host-6 disagrees"), nil},
		"another CA": {func(w *world) {
			w.in.Servers[4].Answer.Member.CA = machine.Certificates([]byte(machinetest.NewCA(t, time.Now()).PEM))
		},
			with(5, "host-5 disagrees"), []string{"another CA"}},
		"a kubelet without a certificate": {func(w *world) { w.in.Servers[4].Answer.Member.Kubelet = nil }, all, nil},
		"two machines of one node": {func(w *world) { w.in.Servers[5] = w.server(6, "pool-1") }, append(with(5, "host-5 disagrees")[:5], "host-6 disagrees"),
			[]string{"both host-5 and host-6 have it"}},
		"a host of another consumer": {func(w *world) { w.in.Servers[4].Host.Holder = &hosts.Holder{Kind: "Metal3Machine", Name: "m"} }, with(5, "host-5 disagrees"),
			[]string{"held by Metal3Machine m"}},
		"a host that Metal3 may image": {func(w *world) { w.in.Servers[4].Host.Bare = true }, with(5, "host-5 disagrees"), []string{"externallyProvisioned"}},
		"a host in quarantine":         {func(w *world) { w.in.Servers[4].Host.Lost, w.in.Servers[4].Host.Quarantined = true, true }, all, nil},
		"silent":                       {func(w *world) { w.silence(4) }, with(5, "host-5 silent"), []string{"is silent. Switch it on, or claim it unseen with --silent"}},
		"silent, claimed unseen":       {func(w *world) { w.silence(4); w.in.Silent = true }, with(5, "host-5 silent pool-1"), nil},
		"silent, of another cluster": {func(w *world) {
			w.silence(4)
			w.in.Silent = true
			w.in.Servers[4].Host.UsedBy = contract.User{Name: "x"}
		},
			with(5, "host-5 silent"), []string{"cannot be claimed: its annotation says that it has the cluster x"}},
		"silent, no address of a node": {func(w *world) { w.silence(5); w.in.Silent = true }, with(6, "host-6 silent"), nil},
		"the login is denied":          {func(w *world) { w.in.Servers[4].Answer = survey.Answer{Err: ssh.ErrDenied} }, with(5, "host-5 disagrees"), []string{"denied"}},
		"the Kubernetes is gone":       {func(w *world) { w.in.Servers[4].Answer.Kubernetes = nil }, with(5, "host-5 disagrees"), []string{"is not on it any more"}},
		"no etcd":                      {func(w *world) { w.in.Cluster.Members = nil }, all, []string{"members of etcd are not known"}},
		"another address": {func(w *world) { w.in.Servers[4].Host.NICs[0].IPs = []netip.Addr{netip.MustParseAddr("10.9.0.5")} }, all,
			[]string{"BPA would reach its host host-5 at 10.9.0.5"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			tc.change(w)
			w.file()
			w.expect(w.make(), tc.rows, tc.problems...)
		})
	}
}

func (w *world) silence(i int) {
	w.in.Servers[i].Answer = survey.Answer{Err: fmt.Errorf("%w: connection refused", ssh.ErrUnreachable)}
}

// TestFiles: a manifest that is not that of the cluster must not make BPA destroy what is there.
func TestFiles(t *testing.T) {
	for name, tc := range map[string]struct {
		edits    []string
		problems []string
		next     string
		pause    bool
	}{
		"a node is missing":        {[]string{"workers: [{worker-1: {cpu: 4}}]", "workers: [{worker-2: {cpu: 4}}]"}, []string{"does not have node worker-1"}, "", false},
		"a set is smaller":         {[]string{"active: 1", "active: 0"}, []string{"BPA would remove 1 node of pool"}, "", false},
		"pinned to another host":   {[]string{"{worker-1: {cpu: 4}}", `{worker-1: {mac-address: "02:00:00:00:00:06"}}`}, []string{"BPA would"}, "", false},
		"another network":          {[]string{"10.244.64.0/18", "10.245.64.0/18"}, []string{"spec.PodSubnet is 10.245.64.0/18, and the cluster has 10.244.64.0/18"}, "", false},
		"another role":             {[]string{"{master-3: {cpu: 8}}], ", "", "  masters: [{master-1: {cpu: 8}}, {master-2: {cpu: 8}}, {master-3: {cpu: 8}}]", "  masters: [{master-1: {cpu: 8}}, {worker-1: {cpu: 8}}, {master-3: {cpu: 8}}]", "workers: [{worker-1", "workers: [{master-2"}, []string{"the role of node", "the role of node"}, "", false},
		"one worker more":          {[]string{"active: 1", "active: 2"}, nil, "add 1 node of pool; claim standby hosts", false},
		"an older version":         {[]string{"1.35.4", "1.34.3"}, []string{"does not describe the cluster"}, "", false},
		"another network plugin":   {[]string{"version: 1.35.4", "version: 1.35.4, networkPlugin: calico"}, []string{"spec.kubernetes.networkPlugin is calico"}, "", false},
		"with a standby host":      {nil, nil, "claim standby hosts", false},
		"more standby hosts":       {[]string{"standby: 1", "standby: 3"}, nil, "claim standby hosts", false},
		"without a standby host":   {[]string{", standby: 1", ""}, nil, "", false},
		"another order of masters": {[]string{"{master-1: {cpu: 8}}, {master-2: {cpu: 8}}", "{master-2: {cpu: 8}}, {master-1: {cpu: 8}}"}, nil, "claim standby hosts", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.file(tc.edits...)
			p := w.make()
			w.expect(p, all, tc.problems...)
			if got := strings.Join(p.Next, "; "); tc.problems == nil && (!strings.Contains(got, tc.next) || tc.next == "" && got != "") || p.Pause != tc.pause {
				t.Errorf("paused %t, next %q; want %t, %q", p.Pause, got, tc.pause, tc.next)
			}
		})
	}
}

// TestLoadBalancer: the address at which the nodes find the API servers cannot be changed by what a file says, or leaves out.
func TestLoadBalancer(t *testing.T) {
	const external = "version: 1.35.4, api: {mode: External, address: api.example, port: 8443}"
	for name, tc := range map[string]struct{ endpoint, kubernetes, problem string }{
		"none":                      {"10.0.0.1:6443", "version: 1.35.4", ""},
		"not known":                 {"", external, ""},
		"that of the cluster":       {"api.example:8443", external, ""},
		"the file leaves it out":    {"api.example:8443", "version: 1.35.4", "spec.kubernetes.api has no load balancer, and the nodes of the cluster use api.example:8443"},
		"another one":               {"api.example:6443", external, "spec.kubernetes.api is api.example:8443, and the nodes of the cluster use api.example:6443"},
		"the cluster has none":      {"10.0.0.1:6443", external, "spec.kubernetes.api is api.example:8443, and the nodes of the cluster use 10.0.0.1:6443"},
		"a control plane that left": {"10.0.0.99:6443", "version: 1.35.4", ""},
		"one that moves":            {"10.0.0.9:6443", "version: 1.35.4, api: {mode: VIP, address: 10.0.0.9}", "spec.kubernetes.api has mode VIP, but the cluster was not installed by BPA"},
		"it is in the variables":    {"api.example:8443", "version: 1.35.4}\n  kubespray: {vars: {loadbalancer_apiserver: {address: api.example, port: 8443}, x: 1}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.in.Cluster.Endpoint = tc.endpoint
			w.file("version: 1.35.4", tc.kubernetes, "  kubespray: {vars: {x: 1}}\n", "")
			if tc.problem == "" {
				w.expect(w.make(), all)
			} else {
				w.expect(w.make(), all, tc.problem)
			}
		})
	}
}

// TestDerivedLoadBalancer: without a file, the Provisioning has the load balancer that the nodes use.
func TestDerivedLoadBalancer(t *testing.T) {
	for endpoint, want := range map[string]*v1alpha1.APISpec{
		"": nil, "10.0.0.2:6443": nil, "no port": nil,
		"api.example:8443": {Mode: v1alpha1.APIExternal, Address: "api.example", Port: 8443},
		"10.0.0.99:6443":   {Mode: v1alpha1.APIExternal, Address: "10.0.0.99", Port: 6443},
	} {
		w := newWorld(t)
		w.in.Cluster.Endpoint = endpoint
		p := w.make()
		w.expect(p, all)
		if diff := cmp.Diff(want, p.Provisioning.Spec.Kubernetes.API); diff != "" {
			t.Errorf("%q (-want +got):\n%s", endpoint, diff)
		}
	}
}

// TestBothFamilies: a cluster with both address families has its IPv6 ranges in the spec, or in variables of kubespray.
func TestBothFamilies(t *testing.T) {
	const ranges = "PodSubnet: 10.244.64.0/18,fd00:1::/64\n  access: {subnets: [10.0.0.0/24, 'fd00::/64']}"
	for name, tc := range map[string]struct{ subnet, kubernetes, problem string }{
		"in the spec":       {ranges, "version: 1.35.4, serviceSubnet: '10.233.0.0/18,fd00:2::/112'", ""},
		"in the variables":  {"PodSubnet: 10.244.64.0/18", "version: 1.35.4}\n  kubespray: {vars: {ipv6_stack: true, x: 1}", ""},
		"left out":          {"PodSubnet: 10.244.64.0/18", "version: 1.35.4", "spec.PodSubnet is 10.244.64.0/18, and the cluster has 10.244.64.0/18,fd00:1::/64: correct it"},
		"those of services": {ranges, "version: 1.35.4, serviceSubnet: '10.233.0.0/18,fd00:3::/112'", "spec.kubernetes.serviceSubnet is 10.233.0.0/18,fd00:3::/112, and the cluster has"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.in.Cluster.PodSubnet, w.in.Cluster.ServiceSubnet = "10.244.64.0/18,fd00:1::/64", "10.233.0.0/18,fd00:2::/112"
			for i := range w.in.Servers {
				card := &w.in.Servers[i].Host.NICs[0]
				card.IPs = append(card.IPs, netip.MustParseAddr(fmt.Sprintf("fd00::%d", i+1)))
			}
			w.file("PodSubnet: 10.244.64.0/18", tc.subnet, "version: 1.35.4", tc.kubernetes, "  kubespray: {vars: {x: 1}}\n", "")
			switch {
			case tc.problem == "":
				w.expect(w.make(), all)
			case name == "left out":
				w.expect(w.make(), all, tc.problem, "spec.kubernetes.serviceSubnet is 10.233.0.0/18, and the cluster has")
			default:
				w.expect(w.make(), all, tc.problem)
			}
		})
	}
	w := newWorld(t)
	w.in.Cluster.PodSubnet, w.in.Cluster.ServiceSubnet = "10.244.64.0/18,fd00:1::/64", "10.233.0.0/18,fd00:2::/112"
	w.expect(w.make(), all, "give a file with spec.access.subnets with -f")
}

// TestNewerVersion: a version that the cluster does not have yet drains its nodes, so that a user resumes it.
func TestNewerVersion(t *testing.T) {
	w := newWorld(t)
	w.in.Cluster.Version = "1.35.3"
	for i := range w.in.Cluster.Nodes {
		w.in.Cluster.Nodes[i].Version = "1.35.3"
	}
	w.file()
	p := w.make()
	w.expect(p, all)
	if !p.Pause || p.Record.Request.KubernetesVersion != "1.35.3" || !strings.Contains(strings.Join(p.Next, "; "), "upgrade master-2 to 1.35.4") {
		t.Errorf("paused %t, record %s, next %q", p.Pause, p.Record.Request.KubernetesVersion, p.Next)
	}
}

// TestMixedVersions: an upgrade that was under way goes on only after a user has seen it.
func TestMixedVersions(t *testing.T) {
	w := newWorld(t)
	w.in.Cluster.Nodes[4].Version = "1.35.3"
	w.file()
	p := w.make()
	w.expect(p, all)
	if !p.Pause || p.Record.Nodes[3].Name != "pool-1" || p.Record.Nodes[3].Version != "1.35.3" || p.Record.Nodes[0].Version != "" {
		t.Errorf("paused %t, next %q, nodes %+v", p.Pause, p.Next, p.Record.Nodes)
	}
}

func TestIdentity(t *testing.T) {
	w := newWorld(t)
	if u, err := Identity("site", "edge-1", w.in.Servers); err != nil || u != edge || len(Planes(u, w.in.Servers)) != 3 {
		t.Errorf("%v, %v, planes %v", u, err, Planes(u, w.in.Servers))
	}
	if _, err := Identity("site", "edge-2", w.in.Servers); err == nil || !strings.Contains(err.Error(), "no server has the mark") {
		t.Errorf("another name: %v", err)
	}
	w.in.Servers[0].Answer.Err = errors.New("broken")
	if u, err := Identity("site", "edge-1", w.in.Servers); err != nil || len(Planes(u, w.in.Servers)) != 2 {
		t.Errorf("an answer that is broken: %v, planes %v", err, Planes(u, w.in.Servers))
	}
	w.in.Servers[4].Answer.User.UID = "second"
	if _, err := Identity("site", "edge-1", w.in.Servers); err == nil || !strings.Contains(err.Error(), "first on host-2, host-3, host-4; second on host-5") {
		t.Errorf("two UIDs: %v", err)
	}
}

// TestOldRequests: a manifest with requests of earlier times, which may be applied again, restores and patches nothing.
func TestOldRequests(t *testing.T) {
	w := newWorld(t)
	w.file("name: edge-1}", "name: edge-1, annotations: {bpa.akraino.org/restore: before, bpa.akraino.org/patch: p1}}")
	p := w.make()
	w.expect(p, all)
	if !p.Record.WasRestored("before") || p.Record.Patched != "p1" || p.Pause {
		t.Errorf("record %+v, next %q", p.Record, p.Next)
	}
}

// TestStrangers: a member of etcd that belongs to no node is named.
func TestStrangers(t *testing.T) {
	w := newWorld(t)
	w.in.Cluster.Members = append(w.in.Cluster.Members, Member{Name: "etcd7", PeerURLs: []string{"https://10.0.0.77:2380"}})
	w.file()
	p := w.make()
	if w.expect(p, all); len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "etcd7 (https://10.0.0.77:2380)") || p.Record.EtcdNext != 5 {
		t.Errorf("notes %q, etcdNext %d", p.Notes, p.Record.EtcdNext)
	}
}
