package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// mostMetadata limits the labels, annotations and taints of one node, in bytes: the Node has a record of them.
const mostMetadata = 16 << 10

var (
	// ownLabels are labels that the kubelet or the roles of the node decide.
	ownLabels = []string{corev1.LabelHostname, corev1.LabelOSStable, corev1.LabelArchStable, "beta.kubernetes.io/os", "beta.kubernetes.io/arch"}
	// ownPrefixes are those of keys that Kubernetes or BPA decide, and why.
	ownPrefixes = map[string]string{
		"node-role.kubernetes.io/": "the roles of the node decide it",
		"bpa.akraino.org/":         "BPA uses this prefix itself",
	}
	// taintPrefix is that of the taints of Kubernetes' controllers, such as node.kubernetes.io/not-ready.
	taintPrefix  = "node.kubernetes.io/"
	taintEffects = []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}
)

// NodeLabel returns why a key cannot be a label that BPA sets on a Node; empty: it can.
func NodeLabel(key string) string {
	if why := validation.IsQualifiedName(key); len(why) > 0 {
		return fmt.Sprintf("%q is not a label name: %s", key, strings.Join(why, "; "))
	}
	if slices.Contains(ownLabels, key) {
		return fmt.Sprintf("label %s is set by the kubelet", key)
	}
	return ownKey(key)
}

func ownKey(key string) string {
	for _, prefix := range slices.Sorted(maps.Keys(ownPrefixes)) {
		if strings.HasPrefix(key, prefix) {
			return key + " cannot be set: " + ownPrefixes[prefix]
		}
	}
	return ""
}

// validateNodeMetadata checks the labels, annotations and taints of a node or of a node set.
func validateNodeMetadata(m *v1alpha1.NodeMetadata) (errs *apis.FieldError) {
	size := 0
	for _, key := range slices.Sorted(maps.Keys(m.Labels)) {
		size += len(key) + len(m.Labels[key])
		if why := NodeLabel(key); why != "" {
			errs = errs.Also(problem("labels", "write a label of your own, such as example.org/pool, or topology.kubernetes.io/zone", "%s", why))
		}
		if why := validation.IsValidLabelValue(m.Labels[key]); len(why) > 0 {
			errs = errs.Also(problem("labels["+key+"]", "write at most 63 letters, digits, dashes, dots and underscores", "%q is not the value of a label: %s", m.Labels[key], strings.Join(why, "; ")))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(m.Annotations)) {
		size += len(key) + len(m.Annotations[key])
		if why := validation.IsQualifiedName(strings.ToLower(key)); len(why) > 0 {
			errs = errs.Also(problem("annotations", "write a name such as example.org/owner", "%q is not the name of an annotation: %s", key, strings.Join(why, "; ")))
		} else if why := ownKey(key); why != "" {
			errs = errs.Also(problem("annotations", "write an annotation of your own, such as example.org/owner", "%s", why))
		}
	}
	for i, t := range m.Taints {
		size += len(t.Key) + len(t.Value)
		err := validateTaint(t)
		if first := slices.IndexFunc(m.Taints, t.Same); first < i {
			err = err.Also(problem("key", "write each key and effect once", "taints[%d] has the same key and effect", first))
		}
		errs = errs.Also(err.ViaFieldIndex("taints", i))
	}
	if size > mostMetadata {
		errs = errs.Also(problem("annotations", "store large values elsewhere, and their name in the annotation",
			"the labels, annotations and taints have %d bytes, more than the limit of %d", size, mostMetadata))
	}
	return errs
}

func validateTaint(t v1alpha1.NodeTaint) (errs *apis.FieldError) {
	if why := validation.IsQualifiedName(t.Key); len(why) > 0 {
		errs = problem("key", "write a name such as dedicated or example.org/gpu", "%q is not the key of a taint: %s", t.Key, strings.Join(why, "; "))
	} else if why := ownKey(t.Key); why != "" {
		errs = problem("key", "write a key of your own, such as dedicated", "%s", why)
	} else if strings.HasPrefix(t.Key, taintPrefix) {
		errs = problem("key", "write a key of your own, such as dedicated", "%s cannot be set: Kubernetes' controllers set and remove taints with this prefix", t.Key)
	}
	if why := validation.IsValidLabelValue(t.Value); len(why) > 0 {
		errs = errs.Also(problem("value", "write at most 63 letters, digits, dashes, dots and underscores", "%q is not the value of a taint: %s", t.Value, strings.Join(why, "; ")))
	}
	if !slices.Contains(taintEffects, t.Effect) {
		errs = errs.Also(problem("effect", "use NoSchedule, PreferNoSchedule or NoExecute", "%q is not an effect", t.Effect))
	}
	return errs
}

// contradicts returns what two entries of one node request differently; empty: nothing.
func contradicts(a, b v1alpha1.NodeMetadata) (field, mine, theirs string) {
	for kind, values := range map[string][2]map[string]string{"labels": {a.Labels, b.Labels}, "annotations": {a.Annotations, b.Annotations}} {
		for _, key := range slices.Sorted(maps.Keys(values[0])) {
			if other, both := values[1][key]; both && other != values[0][key] {
				return kind + "[" + key + "]", values[0][key], other
			}
		}
	}
	for i, t := range b.Taints {
		if at := slices.IndexFunc(a.Taints, t.Same); at >= 0 && a.Taints[at].Value != t.Value {
			return fmt.Sprintf("taints[%d].value", i), a.Taints[at].Value, t.Value
		}
	}
	return "", "", ""
}

// validateOneHome refuses labels and taints that are written as variables of kubespray and as fields of nodes: both
// would set them on the same Nodes.
func validateOneHome(s *v1alpha1.ProvisioningSpec) (errs *apis.FieldError) {
	labels, taints := false, false
	use := func(m v1alpha1.NodeMetadata) {
		labels, taints = labels || len(m.Labels) > 0, taints || len(m.Taints) > 0
	}
	for _, set := range s.NodeSets {
		use(set.NodeMetadata)
	}
	for _, item := range s.Masters {
		for _, m := range item {
			use(m.NodeMetadata)
		}
	}
	for _, item := range s.Workers {
		for _, w := range item {
			use(w.NodeMetadata)
		}
	}
	twice := func(variable, field string) *apis.FieldError {
		return problem("kubespray.vars."+variable, "move the values into "+field+" of the nodes and node sets", "nodes have %s too", field)
	}
	if _, set := s.Kubespray.Vars["node_labels"]; set && labels {
		errs = errs.Also(twice("node_labels", "labels"))
	}
	if _, set := s.Kubespray.Vars["node_taints"]; set && taints {
		errs = errs.Also(twice("node_taints", "taints"))
	}
	return errs
}
