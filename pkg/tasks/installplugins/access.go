package installplugins

import (
	"context"

	"github.com/akraino-icn/bpa/pkg/access"
	"github.com/akraino-icn/bpa/pkg/appcluster"
	"github.com/akraino-icn/bpa/pkg/plugin/cluster"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Enter connects to the cluster and creates a user for this run, whose key only exists in memory. leave
// deletes the user's rights and disconnects. It has a time limit of its own, so it also works after the
// context has ended.
func Enter(ctx context.Context, in Input, ports appcluster.Ports) (client Cluster, leave func(), err error) {
	config, leave, err := appcluster.EnterAs(ctx, appcluster.Input{Request: in.Request, Nodes: in.Nodes, PrivateKey: in.PrivateKey, Limit: in.ConnectLimit},
		access.Plugins, in.SignLimit, ports)
	if err != nil {
		return nil, nil, err
	}
	client, err = cluster.New(config, ports.Log)
	if err != nil {
		leave()
		return nil, nil, task.Because(appcluster.Reason(err), err)
	}
	return client, leave, nil
}
