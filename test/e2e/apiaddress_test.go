//go:build e2e

package e2e

import (
	"cmp"
	"crypto/tls"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/test/site"
)

// TestAPIAddress installs a cluster behind a load balancer, switches the load balancer off and on, and lets the cluster
// get three control planes through it. Then the first one, on which the cluster was initialized, is lost: the address
// stays the same, and requests to it are answered again within 5 s.
func TestAPIAddress(t *testing.T) {
	const outer = "api.edge-60.example"
	s := site.NewTenant(t, "e2e-api", 5, 0)
	lb := balance(t, s)
	s.Apply(s.Provisioning("edge-60", masters(1), workers(1), func(p *v1alpha1.Provisioning) {
		delete(p.Spec.Kubespray.Vars, "loadbalancer_apiserver_localhost") // the webhook refuses it beside the field
		p.Spec.ReplacePolicy = v1alpha1.ReplaceAny
		p.Spec.Kubernetes.API = &v1alpha1.APISpec{Mode: v1alpha1.APIExternal, Address: lb.host, Port: lb.port, Names: []string{outer}}
	}))
	l := &life{t: t, s: s, limit: 25 * time.Minute}
	l.await("1 control plane and 1 worker behind a load balancer", "master-1", "worker-1")
	l.checkAddress(lb, outer)
	l.checkBalancerOff(lb)

	l.edit(masters(3))
	l.await("3 control planes behind a load balancer", "master-1", "master-2", "master-3", "worker-1")
	l.checkAddress(lb, outer)

	gap := lb.watch()
	l.lose("master-1")
	time.AfterFunc(time.Minute, gap.stop) // the loss, and not what its replacement does to the API servers
	l.await("another machine for master-1", "master-1", "master-2", "master-3", "worker-1")
	if longest := gap.longest(); longest > 5*time.Second {
		t.Errorf("after the loss of a control plane, the address did not answer for %s", longest)
	}
	l.checkAddress(lb, outer)
}

// checkAddress checks that users and nodes have the address of the load balancer, and the certificate all names.
func (l *life) checkAddress(lb *balancer, name string) {
	l.t.Helper()
	if got := l.p.Status.APIEndpoint; got != lb.url() {
		l.t.Errorf("the endpoint is %s, want %s", got, lb.url())
	}
	if value := l.s.Admin().Secret(l.p.Status.Kubeconfig.SecretName, "value"); !strings.Contains(string(value), "server: "+lb.url()+"\n") {
		l.t.Errorf("the kubeconfig does not name %s", lb.url())
	}
	if got := l.s.On(hostOf(l.p, "worker-1"), "grep server: /etc/kubernetes/kubelet.conf"); !strings.Contains(got, lb.url()) {
		l.t.Errorf("the kubelet of worker-1 uses %s", got)
	}
	for _, n := range l.p.Status.Nodes {
		if !strings.HasPrefix(n.Name, "master-") {
			continue
		}
		conn, err := tls.Dial("tcp", n.Address+":6443", &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			l.t.Errorf("%s: %v", n.Name, err)
			continue
		}
		certificate := conn.ConnectionState().PeerCertificates[0]
		for _, want := range []string{name, lb.host, n.Address} {
			if err := certificate.VerifyHostname(want); err != nil {
				l.t.Errorf("%s: %v", n.Name, err)
			}
		}
		_ = conn.Close() // nothing was sent
	}
}

// checkBalancerOff: without the load balancer, the worker is not Ready. BPA says so, and not that the cluster does not answer.
func (l *life) checkBalancerOff(lb *balancer) {
	l.t.Helper()
	runs := len(l.s.Runs())
	l.awaitHealth("the first looks at the cluster", 2*time.Minute, nil, func(p *v1alpha1.Provisioning) bool {
		return site.Ready(p) && p.Status.GetCondition(v1alpha1.ConditionClusterHealthy).IsTrue()
	})
	lb.off()
	neverUnknown := func(p *v1alpha1.Provisioning) {
		if ready := p.Status.GetCondition(v1alpha1.ConditionReady); ready.Reason == v1alpha1.ReasonAPIUnavailable {
			l.t.Errorf("the health checks ask through the load balancer: %s", ready.Message)
		}
	}
	l.awaitHealth("a load balancer that is off", 3*time.Minute, neverUnknown, func(p *v1alpha1.Provisioning) bool {
		return states(p)["worker-1"] == v1alpha1.NodeNotReady
	})
	lb.on()
	l.awaitHealth("a load balancer that is on again", 3*time.Minute, neverUnknown, site.Ready)
	if now := len(l.s.Runs()); now != runs {
		l.t.Errorf("%d runs before, %d after: a load balancer that is off must not start one", runs, now)
	}
}

// gap measures how long an address does not answer.
type gap struct {
	stop func()
	done chan struct{}
	most time.Duration
}

// longest returns the longest time without an answer, after stop.
func (g *gap) longest() time.Duration {
	<-g.done
	return g.most
}

// watch asks the API servers for a path through the load balancer, each time over a new connection, until it is stopped.
func (b *balancer) watch() *gap {
	end := make(chan struct{})
	g := &gap{done: make(chan struct{}), stop: sync.OnceFunc(func() { close(end) })}
	b.t.Cleanup(g.stop)
	client := &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	go func() {
		defer close(g.done)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for last := time.Now(); ; {
			answer, err := client.Get(b.url() + cmp.Or(b.ask, "/readyz"))
			if err == nil {
				_ = answer.Body.Close() // the status is all
			}
			if ok := err == nil && slices.Contains([]int{http.StatusOK, http.StatusUnauthorized, http.StatusForbidden}, answer.StatusCode); ok {
				last = time.Now()
			}
			g.most = max(g.most, time.Since(last))
			select {
			case <-tick.C:
			case <-end:
				return
			}
		}
	}()
	return g
}
