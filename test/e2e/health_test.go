//go:build e2e

package e2e

import (
	"time"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/test/site"
)

// Where the kubelet finds the API server's manifest, and where it does not.
const (
	apiServerManifest = "/etc/kubernetes/manifests/kube-apiserver.yaml"
	apiServerAside    = "/etc/kubernetes/kube-apiserver.aside"
)

// checkHealth stops the kubelet of a worker, and then the API server of the only control plane. The
// first shows within a minute as a node that is not Ready. The second shows as Unknown, and never as
// False. Both end without a run.
func (l *life) checkHealth(plane, worker string) {
	l.t.Helper()
	runs := len(l.s.Runs())
	l.awaitHealth("the first looks at the cluster", 2*time.Minute, nil, func(p *v1alpha1.Provisioning) bool {
		return site.Ready(p) && p.Status.GetCondition(v1alpha1.ConditionClusterHealthy).IsTrue() &&
			p.Status.GetCondition(v1alpha1.ConditionCertificatesValid).IsTrue() && p.Status.Nodes[0].Version == p.Spec.Kubernetes.Version
	})

	l.s.On(hostOf(l.p, worker), "systemctl stop kubelet")
	l.awaitHealth("a stopped kubelet", time.Minute, nil, func(p *v1alpha1.Provisioning) bool {
		ready := p.Status.GetCondition(v1alpha1.ConditionReady)
		return ready.IsFalse() && ready.Reason == v1alpha1.ReasonNodesNotReady && states(p)[worker] == v1alpha1.NodeNotReady && states(p)[plane] == v1alpha1.NodeReady
	})
	l.s.On(hostOf(l.p, worker), "systemctl start kubelet")
	l.awaitHealth("a kubelet that runs again", time.Minute, nil, site.Ready)

	neverFalse := func(p *v1alpha1.Provisioning) {
		if ready := p.Status.GetCondition(v1alpha1.ConditionReady); ready.IsFalse() {
			l.t.Errorf("Ready is False (%s) although only the API server was stopped: %s", ready.Reason, ready.Message)
		}
	}
	l.s.On(hostOf(l.p, plane), "mv "+apiServerManifest+" "+apiServerAside)
	l.awaitHealth("a stopped API server", 2*time.Minute, neverFalse, func(p *v1alpha1.Provisioning) bool {
		ready := p.Status.GetCondition(v1alpha1.ConditionReady)
		return ready.IsUnknown() && ready.Reason == v1alpha1.ReasonAPIUnavailable && states(p)[worker] == v1alpha1.NodeUnknown && states(p)[plane] == v1alpha1.NodeUnknown
	})
	l.s.On(hostOf(l.p, plane), "mv "+apiServerAside+" "+apiServerManifest)
	l.awaitHealth("an API server that runs again", 3*time.Minute, neverFalse, func(p *v1alpha1.Provisioning) bool {
		return site.Ready(p) && states(p)[worker] == v1alpha1.NodeReady && states(p)[plane] == v1alpha1.NodeReady
	})
	if now := len(l.s.Runs()); now != runs {
		l.t.Errorf("%d runs before, %d after: health must not start one", runs, now)
	}
}

// awaitHealth waits until the status shows what has happened. each sees every status on the way.
func (l *life) awaitHealth(what string, limit time.Duration, each func(*v1alpha1.Provisioning), done func(*v1alpha1.Provisioning) bool) {
	l.t.Helper()
	begin, before := time.Now(), l.p.DeepCopy()
	l.p = site.Await(l.s, &v1alpha1.ProvisioningList{}, what, limit, func(p *v1alpha1.Provisioning) bool {
		if p.Name != before.Name {
			return false
		}
		if each != nil {
			each(p)
		}
		return done(p)
	})
	l.t.Logf("%s shows after %s", what, time.Since(begin).Round(time.Second))
}
