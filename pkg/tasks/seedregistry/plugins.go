package seedregistry

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/plugin"
	"github.com/akraino-icn/bpa/pkg/tasks/plugins"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// errNoDepot is the error of a site's own plugin if the Provisioning uses no depot.
var errNoDepot = errors.New("the Provisioning uses no depot, and only a depot has a site's own plugins")

// repairs reports whether the run repairs or changes the nodes of a complete cluster. A plugin must not keep
// it from replacing a lost node or from restoring a backup: the task install-plugins, which comes last,
// reports what is wrong with the plugin.
func repairs(request contract.Request) bool {
	return request.Complete && request.Operation != contract.OperationPlugins
}

// withPlugins returns the list of the artifacts that must be in the depot: those of the playbooks and those
// of the plugins that are not skipped. If a plugin cannot be installed, the run must end here, before any
// host is claimed. A run that repairs a cluster only logs this. depot is nil if there is none.
func withPlugins(ctx context.Context, in Input, ports Ports, depot *client.Depot) (artifacts.List, error) {
	needed, err := pluginArtifacts(ctx, in.Request, depot, ports.Log)
	if !repairs(in.Request) {
		if err != nil {
			return artifacts.List{}, err
		}
		merged, err := artifacts.Merge(in.List, needed)
		if err != nil {
			return artifacts.List{}, task.Because(contract.ReasonInvalidRequest, fmt.Errorf("a plugin and the playbooks contradict each other: %w", err))
		}
		return merged, nil
	}
	if err == nil && depot != nil && len(in.Request.Plugins) > 0 {
		only := in
		only.List = needed
		_, err = ensure(ctx, only, ports, depot)
	}
	if ctx.Err() != nil {
		return artifacts.List{}, err
	}
	if err != nil {
		fmt.Fprintf(ports.Log, "A plugin cannot be installed as requested, but the run goes on, because the cluster is complete: %s\n", task.FailureOf(err).Message)
	}
	return in.List, nil
}

// pluginArtifacts returns the images and files of the plugins that are not skipped.
func pluginArtifacts(ctx context.Context, request contract.Request, depot *client.Depot, log io.Writer) (artifacts.List, error) {
	if len(request.Plugins) == 0 {
		return artifacts.List{}, nil
	}
	found := plugins.Find(ctx, request, plugin.Shipped(), func(context.Context) (*client.Depot, error) {
		if depot == nil {
			return nil, errNoDepot
		}
		return depot, nil
	})
	needed, err := plugins.Artifacts(request, found)
	if err != nil {
		return artifacts.List{}, err
	}
	fmt.Fprintf(log, "The plugins need %d images and %d files\n", len(needed.Images), len(needed.Files))
	return needed, nil
}
