package access

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	fakekube "knative.dev/pkg/client/injection/kube/client/fake"
	_ "knative.dev/pkg/client/injection/kube/informers/core/v1/secret/filtered/fake"
	kubefactory "knative.dev/pkg/client/injection/kube/informers/factory/filtered"
	_ "knative.dev/pkg/client/injection/kube/informers/factory/filtered/fake"
	"knative.dev/pkg/controller"
	rtesting "knative.dev/pkg/reconciler/testing"

	fakebpa "github.com/akraino-icn/bpa/pkg/client/injection/client/fake"
	_ "github.com/akraino-icn/bpa/pkg/client/injection/informers/bpa/v1alpha1/provisioning/fake"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
)

// TestController starts the controller with its informers: it finds the Provisioning by the label of the
// Secret, and calls the server in the kubeconfig, which does not answer.
func TestController(t *testing.T) {
	ctx, cancel, informers := rtesting.SetupFakeContextWithCancel(t, func(ctx context.Context) context.Context {
		return kubefactory.WithSelectors(ctx, contract.LabelCluster)
	})
	defer cancel()
	w := newWorld(t)
	w.clock.SetTime(time.Now())
	w.install()
	kubeconfig := w.secret(contract.KubeconfigName(name))
	moved, _, err := resources.MoveKubeconfig(kubeconfig, "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	moved.Data[resources.KeyKubeconfig] = []byte(strings.Replace(string(moved.Data[resources.KeyKubeconfig]), ":6443", ":1", 1)) // nothing listens there
	if _, err := fakebpa.Get(ctx).BpaV1alpha1().Provisionings(site).Create(ctx, w.p, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	impl := NewController(ctx, nil)
	if impl.Concurrency != clusters {
		t.Errorf("concurrency %d, want %d", impl.Concurrency, clusters)
	}
	wait, err := rtesting.RunAndSyncInformers(ctx, informers...)
	if err != nil {
		t.Fatal(err)
	}
	defer wait()
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- impl.RunContext(ctx, 1) }()
	for _, s := range []*corev1.Secret{w.secret(contract.KubeconfigKeyName(name)), moved} {
		if _, err := fakekube.Get(ctx).CoreV1().Secrets(site).Create(ctx, s, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	events := controller.GetEventRecorder(ctx).(*record.FakeRecorder).Events
	select {
	case e := <-events:
		if !strings.Contains(e, "KubeconfigNotMaintained") || !strings.Contains(e, "127.0.0.1:1") {
			t.Errorf("event %q", e)
		}
	case <-time.After(20 * time.Second):
		t.Error("the controller does nothing")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
