package resources

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract/from"
	"github.com/akraino-icn/bpa/pkg/settings"
)

// KeyRevert, in the ConfigMap with the request of a run, holds a JSON patch that restores the spec from which the
// run was started. It is for later reconciles and for users.
const KeyRevert = "revert.json"

type replaceSpec struct {
	Op    string                    `json:"op"`
	Path  string                    `json:"path"`
	Value v1alpha1.ProvisioningSpec `json:"value"`
}

func revert(spec v1alpha1.ProvisioningSpec) (string, error) {
	text, err := json.Marshal([]replaceSpec{{"replace", "/spec", spec}})
	return string(text), err
}

// ReadStarted returns the spec from which a run was started, from the ConfigMap with its request. It returns nil if
// this build of BPA cannot read it, because another build wrote it.
func ReadStarted(cm *corev1.ConfigMap) *v1alpha1.ProvisioningSpec {
	var patch []replaceSpec
	if json.Unmarshal([]byte(cm.Data[KeyRevert]), &patch) != nil || len(patch) != 1 {
		return nil
	}
	return &patch[0].Value
}

// Changes lists the differences between two specs, sorted, such as "spec.PodSubnet: 10.1.0.0/16 ->
// 10.2.0.0/16". If some of the differences define another cluster, it lists only these.
func Changes(was, is *v1alpha1.Provisioning) []string {
	before, after := fields(was.Spec), fields(is.Spec)
	names := map[string]any{}
	maps.Copy(names, before)
	maps.Copy(names, after)
	delete(names, "paused") // this field and the next take effect at once
	delete(names, "deletionPolicy")
	var all, other []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		found := differences("spec."+name, before[name], after[name])
		all = append(all, found...)
		if len(found) > 0 && makesAnother(was, before, name, after[name]) {
			other = append(other, found...)
		}
	}
	if len(other) > 0 {
		return other
	}
	return all
}

func fields(spec v1alpha1.ProvisioningSpec) map[string]any {
	var all map[string]any
	text, err := json.Marshal(spec)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil { // invalid JSON in spec.kubespray.vars, which the API server never stores
		return nil
	}
	return all
}

// makesAnother reports whether this field alone, with the new value, defines another cluster.
func makesAnother(was *v1alpha1.Provisioning, before map[string]any, name string, value any) bool {
	with := maps.Clone(before)
	with[name] = value
	text, err := json.Marshal(with)
	changed := was.DeepCopy()
	changed.Spec = v1alpha1.ProvisioningSpec{}
	if err != nil || json.Unmarshal(text, &changed.Spec) != nil {
		return true
	}
	return digestOf(was) != digestOf(changed)
}

func digestOf(p *v1alpha1.Provisioning) string {
	r, err := from.Provisioning(p, settings.Depot{})
	if err != nil {
		return err.Error()
	}
	text, _ := from.Digest(r)
	return text
}

// differences compares two JSON values recursively. For values below spec.kubespray, it lists only
// the paths, because the values can be passwords.
func differences(path string, before, after any) []string {
	left, isObject := before.(map[string]any)
	right, isObjectToo := after.(map[string]any)
	if isObject && isObjectToo {
		keys := maps.Clone(left)
		maps.Copy(keys, right)
		var all []string
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			all = append(all, differences(path+"."+key, left[key], right[key])...)
		}
		return all
	}
	a, isList := before.([]any)
	b, isListToo := after.([]any)
	if isList && isListToo && len(a) == len(b) {
		var all []string
		for i := range a {
			all = append(all, differences(fmt.Sprintf("%s[%d]", path, i), a[i], b[i])...)
		}
		return all
	}
	was, is := shown(before), shown(after)
	switch {
	case was == is:
		return nil
	case strings.HasPrefix(path, "spec.kubespray"):
		return []string{path}
	}
	return []string{path + ": " + brief(was) + " -> " + brief(is)}
}

func shown(value any) string {
	switch value := value.(type) {
	case nil:
		return "(not set)"
	case string:
		return value
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// brief shortens a value for a message.
func brief(text string) string {
	const most = 60
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}
