package provisioning

import (
	"context"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"knative.dev/pkg/logging"

	fakebpa "github.com/akraino-icn/bpa/pkg/client/clientset/versioned/fake"
	"github.com/akraino-icn/bpa/pkg/client/informers/externalversions"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

// twoHolders is a fake holdings in which edge-1 and edge-9 hold hosts.
type twoHolders struct{}

func (twoHolders) Orphans(_ context.Context, exists func(hosts.Owner) bool) (map[hosts.Owner][]string, error) {
	orphans := map[hosts.Owner][]string{}
	for holder, names := range map[string][]string{"edge-1": {"host-1"}, "edge-9": {"host-3", "host-2"}} {
		if owner := (hosts.Owner{Namespace: site, Name: holder}); !exists(owner) {
			orphans[owner] = names
		}
	}
	return orphans, nil
}

func TestLogOrphans(t *testing.T) {
	core, logged := observer.New(zapcore.WarnLevel)
	ctx := logging.WithLogger(t.Context(), zap.New(core).Sugar())
	factory := externalversions.NewSharedInformerFactory(fakebpa.NewSimpleClientset(edge()), 0)
	informer := factory.Bpa().V1alpha1().Provisionings()
	informer.Informer() // this call registers the informer, so that the factory starts it
	factory.Start(ctx.Done())
	logOrphans(ctx, informer, twoHolders{})
	all := logged.All()
	if len(all) != 1 || all[0].ContextMap()["provisioning"] != "site/edge-9" || all[0].ContextMap()["hosts"] != "host-2 host-3" {
		t.Errorf("logged %+v", all)
	}
}
