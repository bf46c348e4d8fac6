package software

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/reconciler"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	softwarereconciler "github.com/akraino-icn/bpa/pkg/client/injection/reconciler/bpa/v1alpha1/software"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/contract/from"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/reconciler/caches"
	"github.com/akraino-icn/bpa/pkg/software"
)

// Reconciler reconciles Softwares. It makes no call but the update of a status that has changed.
type Reconciler struct {
	clusters   caches.Clusters
	configMaps corelisters.ConfigMapLister
	settings   func() caches.Settings
	// packages returns the list of the packages in the site's depot; nil: it is not known, because of the
	// problem.
	packages func() (list *protocol.PackageList, problem string)
}

var _ softwarereconciler.Interface = (*Reconciler)(nil)

// ReconcileKind writes the status.
func (r *Reconciler) ReconcileKind(ctx context.Context, s *v1alpha1.Software) reconciler.Event {
	seen, err := r.observe(ctx, s)
	if err != nil {
		return err
	}
	before := s.Status.DeepCopy()
	report(s, seen)
	recordChanges(ctx, s, before)
	return nil
}

// observe reads the caches.
func (r *Reconciler) observe(ctx context.Context, s *v1alpha1.Software) (view, error) {
	provisionings := r.clusters.Selectable(s)
	v := view{cluster: software.ClusterOf(s, provisionings), doubt: software.DoubtAbout(s, provisionings), passed: software.Passed(s, provisionings)}
	if former := software.FormerCluster(s, provisionings); former != nil {
		v.former = former.Name
	}
	if v.cluster == nil {
		return v, nil
	}
	v.cluster = v.cluster.DeepCopy()
	v.cluster.SetDefaults(ctx)
	installed, err := r.observeCluster(&v)
	if err != nil {
		return v, err
	}
	request, err := from.Provisioning(v.cluster, r.settings().Depot)
	if err != nil {
		v.problem = fmt.Sprintf("the spec of Provisioning %s cannot be used: %s", v.cluster.Name, err)
		return v, nil
	}
	all, provisionings := r.clusters.Around(v.cluster)
	list, problem := r.packages()
	if request.DepotOfSite && list == nil {
		v.depot = problem
	}
	v.wanted, v.conflicts = software.Wanted(v.cluster, request, installed, v.record, software.Of(v.cluster, provisionings, all), list)
	if slices.ContainsFunc(v.wanted, func(w contract.Software) bool { return w.Problem == software.NoDepot }) {
		v.depot = software.NoDepot
	}
	v.nodes = slices.DeleteFunc(v.nodes, func(n contract.Node) bool { return isLost(v.cluster, n) })
	return v, nil
}

// observeCluster reads the nodes of the cluster and the record of their packages. Before the cluster is
// installed, its nodes are those that were chosen, and it returns an empty record of the installation.
func (r *Reconciler) observeCluster(v *view) (installed contract.Installed, err error) {
	if err := r.readJSON(v.cluster, contract.InstalledName(v.cluster.Name), contract.KeyInstalled, &installed); err != nil {
		return installed, err
	}
	record, err := r.read(v.cluster, contract.SoftwareName(v.cluster.Name), contract.KeySoftware)
	if err != nil {
		return installed, err
	}
	v.record, _ = contract.ParseSoftwareRecord(record) // one that cannot be read is as if there was none
	v.installed, v.nodes = v.cluster.Status.InstalledDigest != "", installed.Nodes
	if len(v.nodes) == 0 {
		err = r.readJSON(v.cluster, contract.InstalledName(v.cluster.Name), contract.KeyClaimed, &v.nodes)
	}
	if !v.installed {
		return contract.Installed{}, err
	}
	installed.Nodes = v.nodes
	return installed, err
}

// isLost reports whether the node has lost its host.
func isLost(p *v1alpha1.Provisioning, n contract.Node) bool {
	return n.Standby || slices.ContainsFunc(p.Status.Nodes, func(s v1alpha1.NodeStatus) bool { return s.Name == n.Name && s.State == v1alpha1.NodeLost })
}

// readJSON reads JSON that a task wrote into a ConfigMap of the Provisioning. If it is missing or invalid, into
// stays unchanged.
func (r *Reconciler) readJSON(p *v1alpha1.Provisioning, name, key string, into any) error {
	text, err := r.read(p, name, key)
	if text != "" {
		_ = json.Unmarshal([]byte(text), into)
	}
	return err
}

// read returns the value of a key in a ConfigMap of the Provisioning; empty: there is none.
func (r *Reconciler) read(p *v1alpha1.Provisioning, name, key string) (string, error) {
	cm, err := r.configMaps.ConfigMaps(p.Namespace).Get(name)
	if apierrors.IsNotFound(err) || err == nil && !metav1.IsControlledBy(cm, p) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("get ConfigMap %s: %w", name, err)
	}
	return cm.Data[key], nil
}

// recordChanges records an event when a condition becomes True or False, or gets another reason.
func recordChanges(ctx context.Context, s *v1alpha1.Software, before *v1alpha1.SoftwareStatus) {
	recorder := controller.GetEventRecorder(ctx)
	if recorder == nil {
		return
	}
	if c, was := s.Status.GetCondition(v1alpha1.ConditionSoftwareAccepted), before.GetCondition(v1alpha1.ConditionSoftwareAccepted); c.IsFalse() && (was == nil || was.Reason != c.Reason) {
		recorder.Event(s, corev1.EventTypeWarning, c.Reason, c.Message)
	}
	c, was := s.Status.GetCondition(v1alpha1.ConditionSoftwareInstalled), before.GetCondition(v1alpha1.ConditionSoftwareInstalled)
	switch same := was != nil && was.Status == c.Status && was.Reason == c.Reason; {
	case same:
	case c.IsFalse():
		recorder.Event(s, corev1.EventTypeWarning, c.Reason, c.Message)
	case c.IsTrue():
		recorder.Event(s, corev1.EventTypeNormal, c.Reason, c.Message)
	}
}
