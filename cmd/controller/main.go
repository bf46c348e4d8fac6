// Command controller is BPA's controller: it makes clusters of the site's hosts, as Provisionings ask for them.
package main

import (
	"log"

	"knative.dev/pkg/injection"
	"knative.dev/pkg/injection/sharedmain"
	"knative.dev/pkg/signals"

	"github.com/akraino-icn/bpa/pkg/prerequisites"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning"
)

// component names the controller in leases, logs and metrics.
const component = "bpa-controller"

func main() {
	ctx := signals.NewContext()
	config := injection.ParseAndGetRESTConfigOrDie()
	// A run needs some twenty small objects, which client-go's own limits would stretch over seconds.
	config.QPS, config.Burst = 50, 100
	if err := prerequisites.Ensure(ctx, config); err != nil {
		if ctx.Err() != nil {
			return // told to stop while waiting
		}
		log.Fatal(err)
	}
	sharedmain.MainWithConfig(provisioning.WithSelectors(ctx), component, config, provisioning.NewController)
}
