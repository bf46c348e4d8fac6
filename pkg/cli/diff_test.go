package cli

import (
	"context"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// fileOf writes p as a user writes it: without a status.
func fileOf(t *testing.T, p *v1alpha1.Provisioning) string {
	t.Helper()
	p = p.DeepCopy()
	p.Status = v1alpha1.ProvisioningStatus{}
	text, err := yaml.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// diff runs the command with this file as stdin.
func diff(w *terminal, file string, options ...string) int {
	w.typed = strings.NewReader(file)
	return w.run(w.t.Context(), append([]string{"diff", "-f", "-"}, options...)...)
}

// TestDiff: the command shows what would change, with the defaults that the API server sets, and the plan, and stores nothing.
func TestDiff(t *testing.T) {
	p, objects := changing(t)
	p.Labels = map[string]string{"cluster": "edge-1", "owner": "c1"}
	p.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "site.example.org/rack": "1"}
	edited := p.DeepCopy()
	more(edited)
	edited.Labels, edited.Annotations = map[string]string{"cluster": "edge-1", "tier": "edge"}, nil
	file := fileOf(t, edited)
	w := newStopped(t, objects...)
	before := everything(t, w)
	w.cluster = interceptor.NewClient(w.cluster, interceptor.Funcs{
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.UpdateOption) error {
			err := c.Update(ctx, o, options...)
			o.(*v1alpha1.Provisioning).Spec.Priority = 7 // as a default of the webhook
			return err
		},
	})
	w.golden("diff", diff(w, file))
	if before != everything(t, w) {
		t.Error("the command has changed an object")
	}

	same := fileOf(t, p)
	w = newStopped(t, objects...)
	w.expect(diff(w, same), codeDone, "edge-1 is as the file requests: there is nothing to apply.", "Nothing is to be done")

	w = newStopped(t, bareMetal(1, 8), bareMetal(2, 8), bareMetal(3, 8))
	w.expect(diff(w, same, "-o", "jsonpath={.apiVersion} {.kind} {.exists} {.plan.operations[*].operation} {.diff}"), codeNotYet,
		"cli.bpa.akraino.org/v1alpha1 DiffReport false install --- stored\n+++ applied\n@@ -0,0 +1,", "+  name: edge-1\n", "kubectl apply -f - -n site-a")
}

// TestDiffIsChecked: what the API server refuses is no diff, and who may not edit gets one without its check.
func TestDiffIsChecked(t *testing.T) {
	p, objects := changing(t)
	edited := p.DeepCopy()
	more(edited)
	file := fileOf(t, edited)
	refusing := func(err error) *terminal {
		w := newStopped(t, objects...)
		w.cluster = interceptor.NewClient(w.cluster, interceptor.Funcs{
			Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error { return err },
		})
		return w
	}
	w := refusing(forbidden("update"))
	w.expect(diff(w, file), codeNotYet, "+  - master-2:", "you have no right to edit this Provisioning")
	w = refusing(os.ErrInvalid)
	w.expect(diff(w, file), codeFailed, "the edit would be refused: invalid argument")
	w = newStopped(t, objects...)
	w.expect(w.run(t.Context(), "diff"), codeUsage, "--filename is missing")
	w = newStopped(t, objects...)
	w.expect(w.run(t.Context(), "diff", "edge-1"), codeUsage, "the file names the Provisioning")
}
