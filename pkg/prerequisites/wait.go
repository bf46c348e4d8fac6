package prerequisites

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"
)

// recheck is the interval at which Wait checks again even without a change. These checks are needed
// because a new kind can appear in discovery some time after its CRD was created.
const recheck = 10 * time.Second

// Cluster is the part of the cluster that Wait uses.
type Cluster struct {
	Discovery Discovery
	// Changes gets a value after a change of a CRD or a Provisioning. Wait then checks again.
	Changes <-chan struct{}
	// Report writes the message into the status of every Provisioning whose status does not have
	// this message yet.
	Report func(ctx context.Context, message string) error
}

// Wait returns nil when no kind is missing, or the error of ctx. It logs errors of the API server
// and continues to wait.
func Wait(ctx context.Context, logger *zap.SugaredLogger, cluster Cluster) error {
	reported := ""
	timer := time.NewTicker(recheck)
	defer timer.Stop()
	for {
		missing, err := Missing(cluster.Discovery, Needs)
		switch {
		case err != nil:
			logger.Warnw("Cannot list the kinds of the API server; trying again", zap.Error(err))
		case len(missing) == 0:
			return nil
		default:
			message := Message(missing)
			if message != reported {
				logger.Warn("Waiting: " + message)
				reported = message
			}
			if err := cluster.Report(ctx, message); err != nil {
				logger.Warnw("Cannot write the missing kinds into the status of the Provisionings; trying again", zap.Error(err))
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
