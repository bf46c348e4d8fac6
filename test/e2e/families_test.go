//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/test/site"
)

// The IPv6 ranges of TestBothFamilies. Those of nodes and pods are large, as sites choose them.
const (
	nodes6    = "fd00:60::/64"
	pods6     = "fd00:244::/64"
	services6 = "fd00:233::/112"
)

// TestBothFamilies installs a cluster with both address families. Nodes and pods have an address of each, and pods and services
// answer at each of them from every node. A worker that joins later is like the others, and after the deletion nothing is left.
func TestBothFamilies(t *testing.T) {
	s := site.NewTenant(t, "e2e-families", 3, 0)
	for _, host := range s.Hosts() {
		giveIPv6(s, host)
	}
	s.Apply(s.Provisioning("edge-62", masters(1), workers(1), func(p *v1alpha1.Provisioning) {
		p.Spec.Access.Subnets = []string{"10.60.0.0/24", nodes6}
		p.Spec.PodSubnet, p.Spec.Kubernetes.ServiceSubnet = "10.233.64.0/18,"+pods6, "10.233.0.0/18,"+services6
	}))
	l := &life{t: t, s: s, limit: 25 * time.Minute}
	l.await("a cluster with both address families", "master-1", "worker-1")
	l.checkFamilies()
	l.edit(workers(2))
	l.await("one worker more", "master-1", "worker-1", "worker-2")
	l.checkFamilies()
	l.edit(workers(1))
	l.await("one worker less", "master-1", "worker-1")
	l.checkFamilies()
	deleteAndReset(t, s, l.p)
	for _, host := range s.Hosts() {
		if left := s.On(host, "ip -o link show | grep -E 'flannel-v6|cni0'; ip -6 route | grep -E '^"+pods6[:8]+"'; ip6tables-save 2>/dev/null | grep -m 1 KUBE; true"); left != "" {
			t.Errorf("%s after the reset:\n%s", host, left)
		}
		if s.On(host, "ip -6 -o addr show to "+nodes6) == "" {
			t.Errorf("%s has lost its own IPv6 address", host)
		}
	}
}

// giveIPv6 gives the machine of a host an IPv6 address and a default route, as the site's router would, and tells Metal3's objects.
func giveIPv6(s *site.Site, name string) {
	s.T.Helper()
	admin, ctx := s.Admin(), context.Background()
	var host metal3.BareMetalHost
	var data metal3.HardwareData
	key := client.ObjectKey{Namespace: s.Pool, Name: name}
	if err := admin.Get(ctx, key, &host); err != nil {
		s.T.Fatal(err)
	}
	if err := admin.Get(ctx, key, &data); err != nil {
		s.T.Fatal(err)
	}
	card := host.Status.HardwareDetails.NIC[0]
	own := netip.MustParseAddr(card.IP).As4()
	card.IP = strings.TrimSuffix(nodes6, "/64") + fmt.Sprint(own[3])
	s.On(name, fmt.Sprintf("sysctl -qw net.ipv6.conf.eth0.disable_ipv6=0 && ip -6 addr add %s/64 dev eth0 nodad && ip -6 route add default via fd00:60::1 dev eth0", card.IP))
	host.Status.HardwareDetails.NIC = append(host.Status.HardwareDetails.NIC, card)
	if err := admin.Status().Update(ctx, &host); err != nil {
		s.T.Fatal(err)
	}
	data.Spec.HardwareDetails = host.Status.HardwareDetails
	if err := admin.Update(ctx, &data); err != nil {
		s.T.Fatal(err)
	}
}

// checkFamilies checks the addresses of nodes and pods, and that pods, services and ports of nodes answer in both families.
func (l *life) checkFamilies() {
	l.t.Helper()
	kubeconfig := kubeconfigOf(l.t, l.s, l.p)
	run := func(stdin string, args ...string) string {
		l.t.Helper()
		out, err := site.Kubectl(kubeconfig, stdin, args...)
		if err != nil {
			l.t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return out
	}
	run(strings.ReplaceAll(workloadManifest, "  type: NodePort\n", "  type: NodePort\n  ipFamilyPolicy: RequireDualStack\n"), "apply", "-f", "-")
	run("", "rollout", "restart", "deployment/web")
	run("", "rollout", "status", "deployment/web", "--timeout=120s")

	l.expectFamilies("nodes", run("", "get", "nodes", "-o", `go-template={{range .items}}{{.metadata.name}} {{range .status.addresses}}{{if eq .type "InternalIP"}}{{.address}} {{end}}{{end}}{{"\n"}}{{end}}`), "10.60.0.0/24", nodes6)
	pods := l.expectFamilies("pods", run("", "get", "pods", "-l", "app=web", "-o", `go-template={{range .items}}{{if not .metadata.deletionTimestamp}}{{.metadata.name}} {{range .status.podIPs}}{{.ip}} {{end}}{{"\n"}}{{end}}{{end}}`), "10.233.64.0/18", pods6)
	services := l.expectFamilies("services", run("", "get", "service", "web", "-o", `go-template={{.metadata.name}} {{range .spec.clusterIPs}}{{.}} {{end}}`), "10.233.0.0/18", services6)
	var urls []string
	for _, ip := range slices.Concat(pods, services) {
		urls = append(urls, "http://"+netip.AddrPortFrom(ip, 8080).String()+"/health")
	}
	for _, n := range l.p.Status.Nodes {
		for _, address := range strings.Fields(l.s.On(n.Host, "ip -o addr show dev eth0 scope global | awk '{sub(/\\/.*/, \"\", $4); print $4}'")) {
			urls = append(urls, "http://"+netip.AddrPortFrom(netip.MustParseAddr(address), 30080).String()+"/health")
		}
	}
	for _, n := range l.p.Status.Nodes {
		for _, url := range urls {
			l.s.AwaitOn(n.Host, "curl -gsf -m 2 "+url, 20*time.Second)
		}
	}
	l.t.Logf("%d nodes reach %s", len(l.p.Status.Nodes), strings.Join(urls, " "))
}

// expectFamilies parses lines of a name and addresses. Each line must have an address in each of both ranges, IPv4 first.
func (l *life) expectFamilies(what, lines string, ranges ...string) (all []netip.Addr) {
	l.t.Helper()
	for line := range strings.Lines(lines) {
		words := strings.Fields(line)
		if len(words) != 1+len(ranges) {
			l.t.Errorf("%s: %q has %d addresses", what, line, len(words)-1)
			continue
		}
		for i, word := range words[1:] {
			ip := netip.MustParseAddr(word)
			if !netip.MustParsePrefix(ranges[i]).Contains(ip) {
				l.t.Errorf("%s: %s of %s is not in %s", what, ip, words[0], ranges[i])
			}
			all = append(all, ip)
		}
	}
	if len(all) == 0 {
		l.t.Errorf("%s: none in %q", what, lines)
	}
	return all
}
