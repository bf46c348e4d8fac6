package controlplane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// FillEtcdClients prepares the first member of etcd for a playbook with a limit. With flannel, kubespray copies the etcd client
// certificates of all nodes from there to the other members, but creates only those of the nodes of the limit: a member that is new, or
// that was not the first one when a worker joined, lacks the others, and the playbook fails. No worker uses such a certificate
// (RemoveEtcdClients), so files without one take their place.
func FillEtcdClients(ctx context.Context, in session.Input, key ssh.Key, pins ssh.Pins, ports session.Ports) error {
	folder, planes := etcdClientsFolder(in.Request), node.ControlPlanes(in.Nodes)
	var files []string
	for _, n := range in.Nodes {
		if !slices.Contains(n.Roles, contract.RoleControlPlane) && !slices.Contains(in.Limit, n.Name) {
			files = append(files, "node-"+n.Name+".pem", "node-"+n.Name+"-key.pem")
		}
	}
	if folder == "" || len(in.Limit) == 0 || len(planes) == 0 || len(files) == 0 {
		return nil
	}
	first := planes[0]
	script := fmt.Sprintf("mkdir -p -m 0700 %[1]s && cd %[1]s && for f in %[2]s; do test -e $f || echo >$f || exit; done", folder, strings.Join(files, " "))
	err := session.OnMachine(ctx, in, first, key, pins.Of(first.HostUID), ports, func(ctx context.Context, sh machine.Shell) error {
		_, err := sh(ctx, script)
		return err
	})
	if err == nil {
		return nil
	}
	return etcdClientsError(first, "prepare the folder of etcd's certificates", err)
}

// etcdClientsError is the error of a step on the etcd client certificates of a node.
func etcdClientsError(n contract.Node, step string, err error) error {
	reason := session.Reason(err)
	if exit := (*ssh.ExitError)(nil); errors.As(err, &exit) {
		reason = contract.ReasonPlaybookFailed
	}
	return &task.Error{Reason: reason, Host: n.Name, Step: step, Err: fmt.Errorf("%s on %s: %w. The next attempt continues", step, n.Name, err)}
}
