package provisioning

import (
	"context"
	"slices"
	"strings"

	"k8s.io/client-go/tools/cache"
	"knative.dev/pkg/logging"

	informers "github.com/akraino-icn/bpa/pkg/client/informers/externalversions/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

// holdings finds hosts that are claimed by Provisionings that do not exist.
type holdings interface {
	Orphans(ctx context.Context, exists func(hosts.Owner) bool) (map[hosts.Owner][]string, error)
}

// logOrphans logs, once, the hosts that are claimed by Provisionings that do not exist, for example
// because a Provisioning was deleted by force. The controller does not release such hosts, because
// a cluster may run on them.
func logOrphans(ctx context.Context, provisionings informers.ProvisioningInformer, site holdings) {
	if !cache.WaitForCacheSync(ctx.Done(), provisionings.Informer().HasSynced) {
		return
	}
	logger := logging.FromContext(ctx)
	orphans, err := site.Orphans(ctx, func(o hosts.Owner) bool {
		p, err := provisionings.Lister().Provisionings(o.Namespace).Get(o.Name)
		return err == nil && ownerOf(p) == o // a Provisioning never releases hosts of another namespace than its own hosts
	})
	if err != nil {
		logger.Warnw("Cannot check whether hosts are claimed by Provisionings that do not exist", "error", err)
	}
	for owner, names := range orphans {
		slices.Sort(names)
		logger.Warnw("Hosts are claimed by a Provisioning that does not exist: `kubectl bpa hosts` shows how to release them",
			"provisioning", owner.Namespace+"/"+owner.Name, "hosts", strings.Join(names[:min(len(names), 20)], " "), "count", len(names))
	}
}
