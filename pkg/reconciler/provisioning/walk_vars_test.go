package provisioning

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/secretvars"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
	"github.com/akraino-icn/bpa/test/year"
)

// simVars is the Secret that has the variable year.Draining in every third life.
const simVars = "variables"

// hide moves the variable from the spec into the Secret. Only the Secret changes with its value.
func (w *simSite) hide(spec *v1alpha1.ProvisioningSpec, value string) {
	delete(spec.Kubespray.Vars, year.Draining)
	if value == "" {
		return
	}
	spec.Kubespray.VarsFrom = []v1alpha1.VarsSource{{SecretRef: v1alpha1.SecretKeyRef{Name: simVars}}}
	text := year.Draining + ": " + value
	if old := simStored[*corev1.Secret](w.server, kindSecret, simVars); old != nil && string(old.Data["vars.yaml"]) == text {
		return
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: site, Name: simVars, Labels: map[string]string{contract.LabelVars: "true"}}}
	secret.Data = map[string][]byte{"vars.yaml": []byte(text)}
	w.server.set(kindSecret, secret)
	for _, k := range []string{name, otherName} { // the watch of the metadata of Secrets
		if w.server.objects[kindProvisioning][k] != nil {
			w.dirty[k] = true
		}
	}
}

// simValues are the values that a pod of the task kubespray finds now.
func (w *simSite) simValues() secretvars.Values {
	secret, key := simStored[*corev1.Secret](w.server, kindSecret, simVars), simStored[*corev1.Secret](w.server, kindSecret, contract.VarsKeyName(name))
	if secret == nil || key == nil {
		return secretvars.Values{}
	}
	vars, err := secretvars.Parse(secretvars.Content{Text: secret.Data["vars.yaml"]})
	if err != nil {
		panic(err)
	}
	return secretvars.Values{Vars: vars, Digests: secretvars.Digests(key.Data[secretvars.KeyData], vars)}
}

// checkVars is the check of the task kubespray before a playbook.
func (w *simSite) checkVars(request contract.Request) error {
	if names := w.simValues().Differ(request.SecretVars); len(names) > 0 && !request.OnlyPatches() {
		return task.Because(contract.ReasonVarsChanged, errors.New(strings.Join(names, ", ")))
	}
	return nil
}

// varsUnlike checks that the record has the variables of the world, and the digest of the one in the Secret.
func (w *simSite) varsUnlike(record contract.Spec) string {
	vars := map[string]string{}
	for key, value := range record.Vars {
		vars[key] = string(value)
	}
	want, digests := maps.Clone(w.world.Variables), map[string]string(nil)
	if value := want[year.Draining]; w.secretly && value != "" {
		delete(want, year.Draining)
		key := simStored[*corev1.Secret](w.server, kindSecret, contract.VarsKeyName(name))
		if key == nil {
			return "there is no key of the digests"
		}
		digests = secretvars.Digests(key.Data[secretvars.KeyData], map[string]json.RawMessage{year.Draining: json.RawMessage(value)})
	}
	if diff := cmp.Diff(want, vars) + cmp.Diff(digests, record.SecretVars); diff != "" {
		return fmt.Sprintf("the variables differ (-want +got):\n%s", diff)
	}
	pool := map[string]json.RawMessage(nil)
	if value := w.world.PoolVariable; value != "" {
		pool = map[string]json.RawMessage{year.Draining: json.RawMessage(value)}
	}
	for _, set := range record.Sets {
		if diff := cmp.Diff(pool, set.Vars); diff != "" {
			return fmt.Sprintf("the variables of the node set differ (-want +got):\n%s", diff)
		}
	}
	return ""
}
