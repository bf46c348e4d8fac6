package cli

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/secretvars"
)

// TestPlanOfVariablesInSecrets: a new value is planned as a change of its variable, by its name. The plan says what to do
// about a Secret that is missing, and what it does not know of one that the user may not read.
func TestPlanOfVariablesInSecrets(t *testing.T) {
	const was, is = "correct-horse", "battery-staple"
	key := []byte(strings.Repeat("k", secretvars.KeyBytes))
	digestOf := func(value string) map[string]string {
		text, _ := json.Marshal(value)
		return secretvars.Digests(key, map[string]json.RawMessage{"registry_password": text})
	}
	for name, r := range map[string]struct {
		value  string // in the Secret; empty: there is no Secret
		denied bool
		want   []string
		not    string
	}{
		"the same value":   {was, false, []string{"Nothing is to be done"}, "registry_password"},
		"another value":    {is, false, []string{"give master-1 the requested settings", "Variables with other values in Secrets: registry_password."}, "Note"},
		"no Secret":        {"", false, []string{"no run starts before this is corrected: spec.kubespray.varsFrom[0]: Secret registry does not exist: create it with"}, "requested settings"},
		"no right to read": {is, true, []string{"you have no right to read the Secrets of spec.kubespray.varsFrom"}, "requested settings"},
	} {
		t.Run(name, func(t *testing.T) {
			p, objects := changing(t)
			p.Spec.Kubespray.VarsFrom = []v1alpha1.VarsSource{{SecretRef: v1alpha1.SecretKeyRef{Name: "registry", Key: "password"}, Variable: "registry_password"}}
			p.Status.SecretVars = digestOf(was)
			cm := objects[len(objects)-1].(*corev1.ConfigMap)
			var record contract.Installed
			if err := json.Unmarshal([]byte(cm.Data[contract.KeyInstalled]), &record); err != nil {
				t.Fatal(err)
			}
			record.Request.SecretVars = digestOf(was)
			text, err := json.Marshal(record)
			if err != nil {
				t.Fatal(err)
			}
			cm.Data[contract.KeyInstalled] = string(text)
			objects = append(objects, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: contract.VarsKeyName(p.Name)}, Data: map[string][]byte{secretvars.KeyData: key}})
			if r.value != "" {
				objects = append(objects, &corev1.Secret{
					ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: "registry", Labels: map[string]string{contract.LabelVars: "true"}},
					Data:       map[string][]byte{"password": []byte(r.value)},
				})
			}
			w := newStopped(t, objects...)
			if r.denied {
				w.cluster = interceptor.NewClient(w.cluster, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, k client.ObjectKey, o client.Object, opts ...client.GetOption) error {
					if _, secret := o.(*corev1.Secret); secret {
						return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, k.Name, nil)
					}
					return c.Get(ctx, k, o, opts...)
				}})
			}
			code := w.run(t.Context(), "plan", "edge-1")
			out := w.text() + w.errOut.String()
			for _, want := range r.want {
				if !strings.Contains(out, want) {
					t.Errorf("the plan lacks %q:\n%s", want, out)
				}
			}
			if strings.Contains(out, r.not) || strings.Contains(out, was) || strings.Contains(out, is) || code != codeDone {
				t.Errorf("exit code %d:\n%s", code, out)
			}
		})
	}
}
