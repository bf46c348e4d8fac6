package plan

import (
	"errors"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// TestKubeconfigLostIsTheStepsError: the condition KubeconfigReady reports an error only if the
// step that stores the kubeconfig caused it.
func TestKubeconfigLostIsTheStepsError(t *testing.T) {
	failed := errors.New("conflict")
	for name, test := range map[string]struct {
		step, beside error
		want         string
	}{
		"it was not stored":                {failed, nil, ReasonKubeconfigLost},
		"it was stored, a host is refused": {nil, failed, reasonStoring},
	} {
		p := &v1alpha1.Provisioning{}
		Report(p, Seen{Name: "edge-1"}, Step{Do: StoreKubeconfig, Reason: ReasonInstalled}, test.step, test.beside, time.Unix(0, 0))
		if got := p.Status.GetCondition(v1alpha1.ConditionKubeconfigReady); got.Reason != test.want {
			t.Errorf("%s: KubeconfigReady says %s, want %s", name, got.Reason, test.want)
		}
	}
}
