package prerequisites

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"
)

// recheck is how often discovery is asked again when nobody told of a change: it may show a new kind a moment after its CRD appeared.
const recheck = 10 * time.Second

// Cluster is what Wait needs of the cluster.
type Cluster struct {
	Discovery Discovery
	// Changes says that it is worth looking again: a CRD or a Provisioning changed.
	Changes <-chan struct{}
	// Report writes the message into every Provisioning that does not show it.
	Report func(ctx context.Context, message string) error
}

// Wait returns once nothing is missing, or with the error of ctx. Errors of the API server are logged and do not end the waiting.
func Wait(ctx context.Context, logger *zap.SugaredLogger, cluster Cluster) error {
	reported := ""
	timer := time.NewTicker(recheck)
	defer timer.Stop()
	for {
		missing, err := Missing(cluster.Discovery, Needs)
		switch {
		case err != nil:
			logger.Warnw("Cannot see which kinds exist", zap.Error(err))
		case len(missing) == 0:
			return nil
		default:
			message := Message(missing)
			if message != reported {
				logger.Warn("Waiting: " + message)
				reported = message
			}
			if err := cluster.Report(ctx, message); err != nil {
				logger.Warnw("Cannot tell the Provisionings what is missing", zap.Error(err))
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for prerequisites: %w", context.Cause(ctx))
		case <-cluster.Changes:
		case <-timer.C:
		}
	}
}
