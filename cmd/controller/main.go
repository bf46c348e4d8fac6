// Command controller is BPA's controller. It installs a cluster on hosts of the site for each
// Provisioning, backs the clusters up, and installs their Softwares.
package main

import (
	"log"

	"github.com/go-logr/zapr"
	"k8s.io/client-go/kubernetes"
	"knative.dev/pkg/injection"
	"knative.dev/pkg/injection/sharedmain"
	"knative.dev/pkg/logging"
	"knative.dev/pkg/signals"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/akraino-icn/bpa/pkg/prerequisites"
	"github.com/akraino-icn/bpa/pkg/reconciler/access"
	"github.com/akraino-icn/bpa/pkg/reconciler/backup"
	"github.com/akraino-icn/bpa/pkg/reconciler/caches"
	"github.com/akraino-icn/bpa/pkg/reconciler/nodemeta"
	"github.com/akraino-icn/bpa/pkg/reconciler/packages"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning"
	"github.com/akraino-icn/bpa/pkg/reconciler/software"
)

// component names the controller in leases, logs and metrics.
const component = "bpa-controller"

func main() {
	ctx := signals.NewContext()
	// controller-runtime, whose cache reads the hosts, prints a stack trace if it has no logger.
	logger, _ := logging.NewLogger("", "")
	ctrllog.SetLogger(zapr.NewLogger(logger.Desugar()))
	config := injection.ParseAndGetRESTConfigOrDie()
	// The first run of a cluster creates about twenty small objects, and a site can start hundreds of runs at a time.
	// The API server limits its own load, so a high limit does no harm.
	config.QPS, config.Burst = 400, 800
	go caches.KeepSettings(ctx, kubernetes.NewForConfigOrDie(config)) // also while kinds are missing, so that a user can write them
	if err := prerequisites.Ensure(ctx, config); err != nil {
		if ctx.Err() != nil {
			return // a signal ended the program during the wait
		}
		log.Fatal(err)
	}
	sharedmain.MainWithConfig(packages.With(provisioning.WithSelectors(ctx)), component, config,
		provisioning.NewController, access.NewController, nodemeta.NewController, backup.NewController, backup.NewScheduler, software.NewController)
}
