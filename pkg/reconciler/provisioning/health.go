package provisioning

import (
	"fmt"

	"k8s.io/client-go/tools/cache"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/health"
	"github.com/akraino-icn/bpa/pkg/health/monitor"
	"github.com/akraino-icn/bpa/pkg/reconciler/caches"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
	"github.com/akraino-icn/bpa/pkg/settings"
)

// Monitor looks at installed clusters. See package monitor.
type Monitor interface {
	Watch(key, monitor.Cluster)
	Forget(key)
	Report(key) (report health.Report, known bool)
}

// observeHealth tells the monitor whether and how to look at the cluster, and reads what it has seen. It
// needs the record of the cluster, which observeSite completes. It makes no call.
func (r *Reconciler) observeHealth(p *v1alpha1.Provisioning, site caches.Settings, seen *plan.Seen) error {
	me := key{Namespace: p.Namespace, Name: p.Name}
	nodes, addresses := seen.WatchedNodes()
	if len(nodes) == 0 {
		r.health.Forget(me)
		return nil
	}
	name := contract.HealthKubeconfigName(p.Name)
	secret, err := r.secret(p, name)
	if err != nil {
		return err
	}
	switch {
	case site.HealthInterval == 0:
		r.health.Forget(me)
		seen.Health = &plan.Health{Unchecked: fmt.Sprintf("health-interval in ConfigMap %s/%s is 0", settings.Namespace, settings.Name)}
		return nil
	case secret == nil:
		r.health.Forget(me)
		seen.Health = &plan.Health{Unchecked: "Secret " + name + ", with the credentials for it, does not exist"}
		return nil
	}
	r.health.Watch(me, monitor.Cluster{
		Kubeconfig: secret.Data[resources.KeyKubeconfig], Version: string(secret.UID) + "/" + secret.ResourceVersion,
		Addresses: addresses, Nodes: nodes, Changing: seen.ChangingNodes(), Interval: site.HealthInterval,
	})
	switch report, known := r.health.Report(me); {
	case !known || report.API == health.APIUnknown && report.Text == "": // nothing is decided yet
		seen.Looking = true
	case report.API == health.APIUnknown:
		seen.Health = &plan.Health{Unchecked: "with Secret " + name + ", " + report.Text, Denied: report.Denied, Report: report}
	default:
		seen.Health = &plan.Health{Report: report}
	}
	return nil
}

// forgetDeleted calls these functions when a Provisioning was deleted, so that nothing looks at its cluster or remembers
// it any more. A Provisioning that is deleted by force is not reconciled any more.
func forgetDeleted(forget ...func(key)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{DeleteFunc: func(o any) {
		if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
			o = last.Obj
		}
		p, ok := o.(*v1alpha1.Provisioning)
		if !ok {
			return
		}
		for _, f := range forget {
			f(keyOf(p))
		}
	}}
}
