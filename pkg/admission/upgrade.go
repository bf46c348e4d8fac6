package admission

import (
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/upgrade"
)

// keptVersions are what the nodes of an installed cluster have. even means that all nodes have what the
// stored spec requests.
type keptVersions struct {
	oldest, newest string
	even           bool
}

// versionsOf returns the oldest and the newest version of a node. Without an upgrade, both are those of
// the spec. It returns nil if the controller has not seen the stored spec yet: an upgrade may be about to
// begin.
func versionsOf(p *v1alpha1.Provisioning) *keptVersions {
	switch u := p.Status.Upgrade; {
	case p.Status.ObservedGeneration != p.Generation || differs(p):
		return nil
	case u != nil:
		return &keptVersions{oldest: u.From, newest: u.Newest}
	}
	return &keptVersions{p.Spec.Kubernetes.Version, p.Spec.Kubernetes.Version, true}
}

// checkUpgrade refuses versions, releases and variables that the upgrade of the nodes does not apply, for
// the reasons that the controller gives. If it is not known what the nodes have, only the controller checks
// the version and the release, and does not apply what is refused.
func (e *edit) checkUpgrade() {
	refuse := func(path string, p *upgrade.Problem) {
		if p != nil {
			e.refused = append(e.refused, refusal{path: path, text: p.Text, advice: p.Advice, unapplied: true})
		}
	}
	was, is := e.was, e.is
	if was.Kubernetes.Version != is.Kubernetes.Version && e.kept != nil {
		rules := upgrade.Rules{Release: is.Kubespray.Release, AnyVersion: is.Depot.Checksums == v1alpha1.ChecksumsDepot || upgrade.OwnChecksums(is.Kubespray.Vars)}
		_, problem := rules.Path(e.kept.newest, is.Kubernetes.Version)
		if problem == nil {
			_, problem = rules.Path(e.kept.oldest, is.Kubernetes.Version)
		}
		refuse("kubernetes.version", problem)
	}
	if e.kept != nil && e.kept.even { // during an upgrade, the status does not say which release a node has
		refuse("kubespray.release", upgrade.Release(was.Kubespray.Release, is.Kubespray.Release))
	}
	names := map[string]bool{}
	for _, vars := range []map[string]apiextensionsv1.JSON{was.Kubespray.Vars, is.Kubespray.Vars} {
		for name := range vars {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		before, had := was.Kubespray.Vars[name]
		after, has := is.Kubespray.Vars[name]
		if had != has || !equality.Semantic.DeepEqual(before, after) {
			refuse("kubespray.vars."+name, upgrade.Variable(name))
		}
	}
}
