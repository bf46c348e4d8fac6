package check

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/check/checktest"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// world3 is a control plane with two workers, which a test can break.
type world3 struct {
	in      Input
	text    [3]string
	answers [3]Answer
}

func newWorld() *world3 {
	w := &world3{in: Input{
		KubernetesVersion: "1.35.4", NetworkPlugin: "flannel", ProxyMode: "ipvs", OperatingSystem: "debian-12",
		PodSubnets: []string{"10.233.64.0/18"}, ServiceSubnets: []string{"10.233.0.0/18"},
		Depot: Depot{URL: "https://10.0.0.250:5443", CA: "PEM"},
	}}
	for i := range w.text {
		role := contract.RoleWorker
		if i == 0 {
			role = contract.RoleControlPlane
		}
		w.in.Nodes = append(w.in.Nodes, Node{Name: fmt.Sprintf("host-%d", i+1), Address: fmt.Sprintf("10.0.0.%d", i+1), Roles: []string{role}, MACs: []string{fmt.Sprintf("02:00:00:00:00:0%d", i+1)}})
		begin := time.Unix(1764327600, 0)
		w.answers[i] = Answer{Asked: begin, Answered: begin.Add(2700 * time.Millisecond)}
	}
	for i := range w.text {
		w.text[i] = w.good(i)
	}
	return w
}

// good is the recorded answer of node i.
func (w *world3) good(i int) string {
	text := checktest.Answer(Script(w.in, i), i+1, time.Unix(1764327600, 0).Add(250*time.Millisecond))
	at := strings.LastIndex(text, "clock ")
	return text[:at] + "clock 1764327602.5\nend\n"
}

// replace changes the lines of a node that begin with old; without a new line, they are gone. It fails if there is none.
func (w *world3) replace(t *testing.T, node int, old string, lines ...string) {
	t.Helper()
	var kept []string
	found := false
	for line := range strings.Lines(w.text[node]) {
		if !strings.HasPrefix(line, old) {
			kept = append(kept, strings.TrimSuffix(line, "\n"))
			continue
		}
		if !found {
			kept = append(kept, lines...)
		}
		found = true
	}
	if !found {
		t.Fatalf("no line begins with %q", old)
	}
	w.text[node] = strings.Join(kept, "\n") + "\n"
}

func (w *world3) judge() []Finding {
	for i := range w.text {
		if w.answers[i].Err == nil {
			w.answers[i].Facts, w.answers[i].Err = Parse([]byte(w.text[i]))
		}
	}
	return Judge(w.in, w.answers[:])
}

func TestGoodHostsHaveNoFindings(t *testing.T) {
	for _, plugin := range []string{"", "flannel", "calico", "cilium", "kube-router", "kube-ovn", "macvlan", "cni", "custom_cni"} {
		for _, proxy := range []string{"", "ipvs", "iptables", "nftables"} {
			w := newWorld()
			w.in.NetworkPlugin, w.in.ProxyMode = plugin, proxy
			for i := range w.text {
				w.text[i] = w.good(i)
			}
			for _, f := range w.judge() {
				t.Errorf("%s, %s: %+v", plugin, proxy, f)
			}
		}
	}
}

// line makes a change of lines of the first host.
func line(old string, lines ...string) func(*testing.T, *world3) {
	return func(t *testing.T, w *world3) { w.replace(t, 0, old, lines...) }
}

// named gives the API servers a name, which the first host looks up with this result and the others find.
func named(result string) func(*testing.T, *world3) {
	return func(t *testing.T, w *world3) {
		w.in.APIName = "api.example"
		for i, of := range []string{result, "apiname 0 10.0.0.9", "apiname 0 127.0.0.1 10.0.0.9"} {
			w.replace(t, i, "lookup", "lookup 0", of)
		}
	}
}

// TestEachCheckFails breaks one thing at a time. The answers are recorded ones, changed by hand.
func TestEachCheckFails(t *testing.T) {
	seen := map[string]bool{}
	for _, tc := range []struct {
		id, how string
		broken  func(*testing.T, *world3)
		hosts   string // that are named, with "this" for a finding without a host
		said    string
		also    string // other checks that must fail, too
	}{
		{"ssh", "no route", func(_ *testing.T, w *world3) {
			w.answers[1].Err = errors.New("10.0.0.2:22: unreachable: no route to host")
		}, "host-2", "no route to host", ""},
		{"answer", "killed", line("end"), "host-1", "did not run to its end", ""},
		{"answer", "a shell that is none", func(_ *testing.T, w *world3) { w.text[2] = "This account is not available.\n" }, "host-3", "did not run to its end", ""},
		{"wrong-machine", "another machine at its address", line("card", "card eth0 02:00:00:00:00:77"), "host-1", "another machine answers: host-1 has 02:00:00:00:00:77, the host has 02:00:00:00:00:01", ""},
		{"sudo", "sudo wants a password", func(t *testing.T, w *world3) { w.replace(t, 0, "uid", "uid 1000"); w.replace(t, 0, "user", "user ops") }, "host-1", "the user ops gets no root", ""},
		{"machine-id", "image with its machine-id", line("machineid", "machineid 00000000000000000000000000000002"), "host-1 host-2", "host-1, host-2 have the machine-id 00000000000000000000000000000002", ""},
		{"machine-id", "missing", line("machineid", "machineid"), "host-1", `its machine-id is ""`, ""},
		{"machine-id", "of an image that was never booted", line("machineid", "machineid uninitialized"), "host-1", `"uninitialized"`, ""},
		{"product-uuid", "mainboards of one series", line("uuid", "uuid 4C4C4544-0000-0000-0000-000000000002"), "host-1 host-2", "4c4c4544-0000-0000-0000-000000000002", ""},
		{"mac-address", "copied virtual machine", line("virtual lo", "card eth1 02:00:00:00:00:02"), "host-1 host-2", "02:00:00:00:00:02", ""},
		{"hostname", "copied image", line("hostname", "hostname host-2"), "host-1 host-2", "host-1, host-2 have the host name host-2", ""},
		{"hostname", "underscore", line("hostname", "hostname Rack_1"), "host-1", `"Rack_1"`, ""},
		{"address", "another address by DHCP", line("address eth0 10.", "address eth0 10.0.0.77/24"), "host-1", "10.0.0.1 is on none of its network cards", ""},
		{"address", "two hosts with one address", func(_ *testing.T, w *world3) { w.in.Nodes[1].Address = "10.0.0.1" }, "host-1 host-2 host-2", "host-1, host-2 have the address 10.0.0.1", ""},
		{"occupied", "an old cluster", line("process chronyd", "process chronyd", "process kubelet", "kubernetes /etc/kubernetes/kubelet.conf"), "host-1", "/etc/kubernetes/kubelet.conf, the process kubelet", ""},
		{"systemd", "OpenRC", line("init", "init init"), "host-1", "its init is init", ""},
		{"operating-system", "the other release", line("osversion", "osversion 13"), "host-1", "debian-13, not debian-12", ""},
		{"kernel", "too old", line("kernel", "kernel 4.18.0-553.el8_10.x86_64"), "host-1", "4.18.0-553.el8_10.x86_64; Kubernetes needs 4.19", ""},
		{"kernel", "nftables", func(t *testing.T, w *world3) {
			w.in.ProxyMode = "nftables"
			w.replace(t, 0, "kernel", "kernel 5.10.0-8")
			nft(w)
		}, "host-1", "kube_proxy_mode nftables needs 5.13", ""},
		{"kernel", "cilium", func(t *testing.T, w *world3) {
			w.in.NetworkPlugin = "cilium"
			again(w)
			w.replace(t, 0, "kernel", "kernel 5.4.0-8")
		}, "host-1", "cilium needs 5.10", ""},
		{"kernel-features", "without linux-modules-extra", line("feature vxlan", "feature vxlan no CONFIG_VXLAN is off, or its module is not installed"), "host-1", "lacks vxlan (CONFIG_VXLAN is off", ""},
		{"kernel-features", "disabled by a hardening guide", line("feature overlay", "feature overlay no its module is disabled in /etc/modprobe.d"), "host-1", "overlay (its module is disabled", ""},
		{"cgroup", "cgroup v1", line("cgroup", "cgroup tmpfs"), "host-1", "cgroup v1 (tmpfs", ""},
		{"cgroup", "no memory controller", line("controllers", "controllers cpuset cpu io pids"), "host-1", "lack the controllers memory", ""},
		{"cpus", "one CPU", line("cpus", "cpus 1"), "host-1", "it has 1 CPU", ""},
		{"memory", "1.5 GB", line("memory", "memory 1500000"), "host-1", "1536 MB of memory, and needs 1700", ""},
		{"swap", "zram", line("swaps", "swaps", "swap /dev/zram0"), "host-1", "/dev/zram0", ""},
		{"selinux", "enforcing", line("selinux", "selinux 1"), "host-1", "SELinux is enforcing", ""},
		{"apparmor", "no parser", line("tool apparmor_parser"), "host-1", "no apparmor_parser", ""},
		{"tools", "a minimal image", line("tool python3"), "host-1", "it has no python3", ""},
		{"package-lock", "unattended-upgrades", line("interrupted", "lock /var/lib/dpkg/lock-frontend unattended-upgr 812"), "host-1", "held: /var/lib/dpkg/lock-frontend unattended-upgr 812", ""},
		{"package-interrupted", "power cut", line("interrupted", "interrupted dpkg"), "host-1", "dpkg was interrupted", ""},
		{"clock", "an hour behind", clock(0, -3600), "host-1", "its clock is at least 59m59.75s behind this machine's", ""},
		{"clock", "ahead", clock(1, 60), "host-2", "at least 59.8s ahead of this machine's", ""},
		{"clock", "this machine is wrong", func(t *testing.T, w *world3) {
			for i := range w.text {
				clock(i, -300)(t, w)
			}
		}, "this", "the clock of this machine is at least 4m59.75s ahead of all hosts', which agree", ""},
		{"clock-drift", "a second", clock(0, 1), "host-1", "at least 800ms ahead", ""},
		{"time-source", "none", func(t *testing.T, w *world3) {
			w.replace(t, 0, "process chronyd")
			w.replace(t, 0, "synchronized", "synchronized no")
		}, "host-1", "no program sets its clock", ""},
		{"time-source", "no server answers", line("synchronized", "synchronized no"), "host-1", "chronyd runs, and the clock is not synchronized", ""},
		{"disk-space", "a small disk", func(t *testing.T, w *world3) {
			w.replace(t, 0, "disk /var/lib/containerd", "disk /var/lib/containerd 7 4096 2621440 500000 655360 600000")
			w.replace(t, 0, "mount /var/lib/containerd", "mount /var/lib/containerd /var/lib/containerd rw")
		}, "host-1", "/var/lib/containerd has 1.9 GiB free, and /var/lib/containerd need 2.0 GiB", "disk-reserve"},
		{"disk-reserve", "a small disk that is enough at first", func(t *testing.T, w *world3) {
			w.replace(t, 0, "disk /var/lib/containerd", "disk /var/lib/containerd 7 4096 2621440 2000000 655360 600000")
			w.replace(t, 0, "mount /var/lib/containerd", "mount /var/lib/containerd /var/lib/containerd rw")
		}, "host-1", "/var/lib/containerd has 7.6 GiB free, and /var/lib/containerd need 10.0 GiB", ""},
		{"disk-pressure", "a large disk that is nearly full", line("disk /var/lib/containerd", "disk /var/lib/containerd 7 4096 268435456 26843545 655360 600000"), "host-1", "/ has 10.0 % free, and containerd wants more than 15 %", ""},
		{"disk-pressure", "no inodes", line("disk /var/lib/kubelet", "disk /var/lib/kubelet 65024 4096 26214400 20971520 6553600 1000"), "host-1", "1000 of 6553600 inodes", ""},
		{"mounts", "noexec", line("mount /usr/local/bin", "mount /usr/local/bin /usr/local rw,noexec"), "host-1", "/usr/local, on which /usr/local/bin (the programs of kubespray) will be, is mounted with noexec", ""},
		{"mounts", "read-only", line("mount /var/lib/etcd", "mount /var/lib/etcd / ro,relatime"), "host-1", "is mounted read-only", ""},
		{"etcd-fsync", "a hard disk", line("fsync", slow()...), "host-1", "99 % of 200 writes took at most 25ms, half of them 1.1ms", ""},
		{"etcd-fsync", "a very slow disk", line("fsync", "fsync 0.4", "fsync 0.9"), "host-1", "2 writes took 1.3s", ""},
		{"default-route", "none", line("route default"), "host-1", "it has no default route", ""},
		{"resolver", "none", line("nameserver"), "host-1", "has no name server", ""},
		{"resolver-loop", "dnsmasq", func(t *testing.T, w *world3) {
			w.replace(t, 0, "process systemd-resolve")
			w.replace(t, 0, "nameserver", "nameserver 127.0.0.1")
			w.replace(t, 0, "upstream")
		}, "host-1", "127.0.0.1, which is itself", ""},
		{"resolver-loop", "systemd-resolved without a server", line("upstream"), "host-1", "systemd-resolved has no name server", ""},
		{"api-address", "no such name", named("apiname 2"), "host-1", "it does not resolve api.example; its name servers are", ""},
		{"api-address", "its own name", named("apiname 0 127.0.1.1 ::1"), "host-1", "api.example is 127.0.1.1, ::1, which is itself", ""},
		{"resolver-answer", "a server that is off", line("lookup", "lookup 5"), "host-1", "no answer after 5s", ""},
		{"ranges", "a route of the site", line("route default", "route default eth0", "route 10.233.80.0/20 eth1"), "host-1", "the range of the pods (10.233.64.0/18) overlaps with its route 10.233.80.0/20 (eth1)", ""},
		{"ranges", "each other", func(_ *testing.T, w *world3) { w.in.PodSubnets = []string{"10.233.0.0/16"} }, "this", "the range of the services (10.233.0.0/18) overlaps with that of the pods", ""},
		{"ranges", "a name server", line("upstream", "upstream 10.233.0.3"), "host-1", "its name server 10.233.0.3", ""},
		{"mtu", "a tunnel", line("ping 10.0.0.2", "ping 10.0.0.2 1500 1400"), "host-1", "packets of 1500 bytes, the MTU of its network card, do not arrive at host-2 (10.0.0.2); those of 1400 do", ""},
		{"mtu", "jumbo frames, a switch without", line("ping 10.0.0.3", "ping 10.0.0.3 9000 1500"), "host-1", "packets of 9000 bytes", ""},
		{"mtu", "the way to this machine", line("ping 10.0.0.250", "ping 10.0.0.250 9000 1500"), "host-1", "this machine", ""},
		{"mtu-path", "a router with a tunnel", line("ping 10.0.0.2", "ping 10.0.0.2 1500 1400 frag-needed"), "host-1", "packets of 1500 bytes, the MTU of its network card, are too large for the way to host-2 (10.0.0.2); those of 1400 arrive", ""},
		{"ports-free", "another etcd", func(t *testing.T, w *world3) {
			w.replace(t, 0, "listen", "listen tcp 094B 00000000", "owner tcp 2379 etcd")
		}, "host-1", "in use: tcp/2379 (for etcd) by etcd", ""},
		{"ports-free", "dnsmasq at all addresses", line("listen", "listen udp 0035 00000000000000000000000000000000"), "host-1", "udp/53 (for the local cache of names)", ""},
		{"ports-reachable", "a firewall that drops", func(t *testing.T, w *world3) {
			w.replace(t, 1, "knock 10.0.0.1 tcp 6443", "knock 10.0.0.1 tcp 6443 silent")
		}, "host-2", "it does not reach host-1 (10.0.0.1) at tcp 6443 (silent)", ""},
		{"ports-reachable", "a firewall that rejects", line("knock 10.0.0.3 tcp 10250", "knock 10.0.0.3 tcp 10250 rejected"), "host-1", "host-3 (10.0.0.3) at tcp 10250 (rejected)", ""},
		{"udp-reachable", "a firewall that drops", line("knock 10.0.0.3 udp", "knock 10.0.0.3 udp 8472 silent"), "host-1", "host-3 (10.0.0.3) at udp 8472 (silent)", ""},
		{"firewall", "firewalld", line("process chronyd", "process chronyd", "process firewalld"), "host-1", "it runs firewalld", ""},
		{"depot", "another CA", line("depot", "depot 60 000 0 0.01 curl: (60) SSL certificate problem: unable to get local issuer certificate"), "host-1", "https://10.0.0.250:5443: curl: (60) SSL certificate problem", ""},
		{"depot", "overloaded", line("depot", "depot 0 503 0 0.01"), "host-1", "HTTP status 503", ""},
		{"depot-throughput", "10 Mb/s", line("depot", "depot 28 206 6291456 6.0 curl: (28) Operation timed out"), "host-1", "6.0 MiB arrived in 6s: 1.0 MiB/s", ""},
		{"site-kinds", "no Metal3", func(_ *testing.T, w *world3) { w.in.Site = &Site{Kinds: "no kind BareMetalHost"} }, "this", "no kind BareMetalHost", ""},
		{"site-settings", "no depot-url", func(_ *testing.T, w *world3) { w.in.Site = &Site{Settings: "depot-url is missing"} }, "this", "depot-url is missing", ""},
		{"site-ssh-key", "none", func(_ *testing.T, w *world3) { w.in.Site = &Site{SSHKey: "there is no Secret ssh-key"} }, "this", "there is no Secret", ""},
		{"site-hosts", "none", func(_ *testing.T, w *world3) { w.in.Site = &Site{Hosts: "there is no BareMetalHost"} }, "this", "there is no BareMetalHost", ""},
	} {
		t.Run(tc.id+": "+tc.how, func(t *testing.T) {
			seen[tc.id] = true
			w := newWorld()
			if strings.HasPrefix(tc.id, "package") {
				w.text[0] = "interrupted placeholder\n" + w.text[0]
			}
			tc.broken(t, w)
			var hosts []string
			said := ""
			for _, f := range w.judge() {
				if f.ID != tc.id {
					if !slices.Contains(strings.Fields(tc.also), f.ID) {
						t.Errorf("also %+v", f)
					}
					continue
				}
				if f.Result != Failed || f.Do == "" {
					t.Errorf("%+v", f)
				}
				hosts, said = append(hosts, orElse(f.Host, "this")), said+f.Seen+"\n"
			}
			if strings.Join(hosts, " ") != tc.hosts || !strings.Contains(said, tc.said) {
				t.Errorf("%v: %swant %s: %s", hosts, said, tc.hosts, tc.said)
			}
			w.in.Skip = []string{tc.id}
			for _, f := range Judge(w.in, w.answers[:]) {
				if f.ID == tc.id {
					t.Errorf("skipped, and there: %+v", f)
				}
			}
		})
	}
	for _, c := range table {
		if !seen[c.ID] {
			t.Errorf("no row breaks %s", c.ID)
		}
	}
}

// again makes the good answers for a changed input.
func again(w *world3) {
	for i := range w.text {
		w.text[i] = w.good(i)
	}
}

func nft(w *world3) {
	for i := range w.text {
		w.text[i] = "feature nf_tables yes built in\n" + w.text[i]
	}
}

// clock moves the clock of a host.
func clock(host int, by float64) func(*testing.T, *world3) {
	return func(t *testing.T, w *world3) {
		begin := 1764327600.25 + by
		n := 0
		var kept []string
		for l := range strings.Lines(w.text[host]) {
			if strings.HasPrefix(l, "clock ") {
				l = fmt.Sprintf("clock %.6f\n", begin+2.25*float64(n))
				n++
			}
			kept = append(kept, l)
		}
		if w.text[host] = strings.Join(kept, ""); n != 2 {
			t.Fatalf("%d clocks", n)
		}
	}
}

// slow are 200 writes of which 3 are slow.
func slow() (lines []string) {
	for i := range 200 {
		took := "0.0011"
		if i%80 == 5 {
			took = "0.025"
		}
		lines = append(lines, "fsync "+took)
	}
	return lines
}

// TestWhatIsMissingIsUnknown: a fact that a host could not give never looks like a success.
func TestWhatIsMissingIsUnknown(t *testing.T) {
	for old, id := range map[string]string{
		"card": "wrong-machine", "init": "systemd", "os": "operating-system", "cgroup": "cgroup", "cpus": "cpus", "memory": "memory", "swaps": "swap", "lookup": "resolver-answer",
		"disk /var/lib/etcd": "disk-space", "fsync": "etcd-fsync", "feature ip_vs_sh": "kernel-features", "depot": "depot", "knock": "ports-reachable udp-reachable",
	} {
		w := newWorld()
		w.replace(t, 0, old)
		if old == "os" || old == "card" {
			w.text[0] = strings.ReplaceAll(w.text[0], "virtual lo 00:00:00:00:00:00\n", "")
		}
		var got []string
		for _, f := range w.judge() {
			if f.Result != Unknown || f.Host != "host-1" {
				t.Errorf("without %s: %+v", old, f)
			}
			got = append(got, f.ID)
		}
		if strings.Join(got, " ") != id {
			t.Errorf("without %s: %v, want %s", old, got, id)
		}
	}
	w := newWorld()
	w.replace(t, 0, "ping")
	w.replace(t, 0, "df")
	if got := w.judge(); len(got) != 1 || got[0].ID != "mtu" || got[0].Result != Unknown {
		t.Errorf("without a ping that forbids fragments: %+v", got)
	}
}

// TestMembersKeepWhatIsTheirs: a node of the cluster has its ports, its routes and its Kubernetes.
func TestMembersKeepWhatIsTheirs(t *testing.T) {
	w := newWorld()
	w.replace(t, 0, "listen", "listen tcp 192B 00000000000000000000000000000000", "listen udp 2118 00000000")
	w.replace(t, 0, "process chronyd", "process chronyd", "process kubelet", "kubernetes /etc/kubernetes/kubelet.conf")
	w.replace(t, 0, "route default", "route default eth0", "route 10.233.64.0/24 cni0", "route 10.233.65.0/24 flannel.1")
	w.replace(t, 1, "knock 10.0.0.1 udp", "knock 10.0.0.1 udp 8472 silent")
	w.replace(t, 1, "knock 10.0.0.1 tcp 6443", "knock 10.0.0.1 tcp 6443 open")
	if n := len(w.judge()); n != 4 {
		t.Errorf("%d findings of a host that is none", n)
	}
	w.in.Nodes[0].Member = true
	for _, f := range w.judge() {
		t.Errorf("%+v", f)
	}
}

// TestRolesAreNotKnown: then a host may get each role, but need not be large enough for each.
func TestRolesAreNotKnown(t *testing.T) {
	w := newWorld()
	for i := range w.in.Nodes {
		w.in.Nodes[i].Roles = nil
	}
	again(w)
	w.replace(t, 0, "cpus", "cpus 1")
	w.replace(t, 1, "knock 10.0.0.3 tcp 2380", "knock 10.0.0.3 tcp 2380 silent")
	got := w.judge()
	if len(got) != 1 || got[0].ID != "ports-reachable" {
		t.Errorf("%+v", got)
	}
}

// TestAHostThatDoesNotAnswerIsNamedOnce: the others do not reach it either, and do not say so.
func TestAHostThatDoesNotAnswerIsNamedOnce(t *testing.T) {
	w := newWorld()
	w.answers[2].Err = errors.New("unreachable")
	w.replace(t, 0, "ping 10.0.0.3", "ping 10.0.0.3 1500 0")
	w.replace(t, 0, "knock 10.0.0.3 tcp 10250", "knock 10.0.0.3 tcp 10250 silent")
	if got := w.judge(); len(got) != 1 || got[0].ID != "ssh" || got[0].Host != "host-3" {
		t.Errorf("%+v", got)
	}
}

// TestHostileAnswers: a host cannot control the terminal, fill the memory or stop the command.
func TestHostileAnswers(t *testing.T) {
	w := newWorld()
	w.replace(t, 0, "hostname", "hostname \x1b[2J\x1b]0;owned\x07"+strings.Repeat("A", 100000))
	w.replace(t, 0, "fsync", strings.Repeat("fsync 9\n", 100000))
	w.text[0] = strings.Repeat("swap x\nroute 10.0.0.0/8 e\nlisten tcp 192B 0\nprocess kubelet\n", 3000) + w.text[0]
	for _, f := range w.judge() {
		if strings.ContainsAny(f.Seen, "\x1b\x07\n") || len(f.Seen) > 2000 {
			t.Errorf("%s: %q", f.ID, f.Seen)
		}
	}
	f := w.answers[0].Facts
	if len(f.Swaps) > mostFew || len(f.Routes) > mostItems || len(f.Processes) > mostFew || len(f.Fsync) > 200 {
		t.Errorf("%d %d %d %d", len(f.Swaps), len(f.Routes), len(f.Processes), len(f.Fsync))
	}
}

func FuzzAnswers(f *testing.F) {
	w := newWorld()
	f.Add(w.text[0])
	f.Add("clock 1e400\nclock NaN\nend\n")
	f.Add("clock -1\ndisk /var/lib/kubelet 1 9223372036854775807 9223372036854775807 9 9 9\ndepot 0 206 9 NaN\nping 10.0.0.2 -1 9\nend\n")
	f.Fuzz(func(t *testing.T, text string) {
		w := newWorld()
		w.text[0] = text
		for _, f := range w.judge() {
			if len([]rune(f.Seen)) > mostSeen+3 {
				t.Errorf("%d", len(f.Seen))
			}
		}
		w.in.Machine = true
		Judge(w.in, w.answers[:])
	})
}

// TestIDs: an ID is a part of scripts, so it is unique and easy to type.
func TestIDs(t *testing.T) {
	for i, c := range table {
		if !validName.MatchString(c.ID) || strings.Contains(c.ID, ".") || slices.Contains(IDs()[:i], c.ID) {
			t.Errorf("%q", c.ID)
		}
		if c.What == "" || c.Do == "" || c.Severity != Error && c.Severity != Warning || c.judge == nil {
			t.Errorf("%s is incomplete", c.ID)
		}
	}
}

// TestPeers: up to 20 nodes are compared in pairs, more of them in a ring.
func TestPeers(t *testing.T) {
	for n, want := range map[int]int{1: 0, 2: 1, 20: 19, 21: 2, 100: 2} {
		in := Input{}
		for i := range n {
			in.Nodes = append(in.Nodes, Node{Name: fmt.Sprint(i), Address: fmt.Sprintf("10.0.1.%d", i+1), Roles: []string{contract.RoleWorker}})
		}
		if n > 20 {
			for i := range 9 {
				in.Nodes[i].Roles = []string{contract.RoleControlPlane}
			}
		}
		for i := range in.Nodes {
			ring, all := in.peers(i)
			if len(ring) != want || n <= 20 && len(all) != want || len(all) > want+mostPlanes {
				t.Errorf("%d nodes, node %d: %d and %d peers, want %d", n, i, len(ring), len(all), want)
			}
			if text := Script(in, i); len(text) > 100<<10 {
				t.Errorf("%d nodes: the script has %d bytes", n, len(text))
			}
		}
	}
}

var update = flag.Bool("update", false, "write the table of the page")

const page = "../../docs/checks.md"

// TestPage compares the tables of the page with the checks and the ports. go test -update writes it.
func TestPage(t *testing.T) {
	var rows strings.Builder
	rows.WriteString("| check | severity | what is expected | what to do otherwise |\n| --- | --- | --- | --- |\n")
	for _, c := range table {
		what := c.What
		if c.Machine && !strings.HasPrefix(c.ID, "site-") {
			what += " *(also the machine)*"
		}
		if c.Elsewhere != "" && !strings.HasPrefix(c.ID, "site-") {
			what += " *(runs report it as `" + strings.ReplaceAll(c.Elsewhere, ", ", "`, `") + "`)*"
		}
		fmt.Fprintf(&rows, "| `%s` | %s | %s | %s |\n", c.ID, c.Severity, what, c.Do)
	}
	compare(t, "table of checks", rows.String())
	rows.Reset()
	rows.WriteString("| port | of | nodes | who connects | with |\n| --- | --- | --- | --- | --- |\n")
	seen := map[port]bool{}
	for _, plugin := range []string{"", "calico", "cilium", "flannel", "kube-ovn", "kube-router"} {
		for _, p := range (Input{NetworkPlugin: plugin}).ports() {
			if seen[p] {
				continue
			}
			seen[p] = true
			from := "all nodes"
			if p.local {
				from = "only the node itself"
			} else if p.from != "" {
				from = p.from
			}
			fmt.Fprintf(&rows, "| %s %d | %s | %s | %s | %s |\n", p.protocol, p.number, p.of, orElse(p.role, "all"), from, orElse(plugin, "all network plugins"))
		}
	}
	compare(t, "table of ports", rows.String())
}

// compare compares a table of the page, or writes it.
func compare(t *testing.T, name, want string) {
	t.Helper()
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+name+" -->\n", "<!-- end -->\n"
	head, rest, found := strings.Cut(string(raw), begin)
	old, tail, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no %q and %q", page, begin, end)
	}
	if *update {
		if err := os.WriteFile(page, []byte(head+begin+want+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if old != want {
		t.Errorf("a table of %s is not that of the code: run go test ./pkg/check -run TestPage -update", page)
	}
}
