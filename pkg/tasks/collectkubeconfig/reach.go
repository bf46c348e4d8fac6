package collectkubeconfig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// entry is the access to the cluster through one control plane.
type entry struct {
	conn    node.Connection
	admin   *admin
	cluster *cluster
	version string // of the API server, which has answered
}

// reach returns the access through the first control plane that works. If none works, it returns the
// error of the first one.
func reach(ctx context.Context, in Input, access node.Access, log io.Writer) (*entry, error) {
	var first error
	planes := node.ControlPlanes(in.Nodes)
	for {
		conn, master, err := access.FirstControlPlane(ctx, planes)
		if err != nil {
			return nil, cmp.Or(first, err)
		}
		fmt.Fprintf(log, "Connected to %s (%s)\n", master.Name, master.Address)
		e, err := enter(ctx, in, conn, master)
		if err == nil {
			return e, nil
		}
		conn.Close()
		first = cmp.Or(first, err)
		planes = planes[1+slices.IndexFunc(planes, func(n contract.Node) bool { return n.Name == master.Name }):]
		if len(planes) == 0 || ctx.Err() != nil {
			return nil, first
		}
		fmt.Fprintf(log, "The cluster cannot be reached through %s, trying the next control plane: %v\n", master.Name, err)
	}
}

// enter reads the admin kubeconfig of a control plane and calls the API server that it names. If that
// one does not answer, enter calls the API server of this control plane: admin.conf can name a control
// plane that has left the cluster.
func enter(ctx context.Context, in Input, conn node.Connection, master contract.Node) (*entry, error) {
	admin, err := readAdmin(ctx, in, conn, master)
	if err != nil {
		return nil, err
	}
	e, err := call(in, conn, admin)
	if own := admin.at(master.Address); err != nil && own.endpoint != admin.endpoint && !in.Request.ExternalEndpoint() {
		if e, failed := call(in, conn, own); failed == nil {
			return e, nil
		}
	}
	return e, err
}

func call(in Input, conn node.Connection, admin *admin) (*entry, error) {
	cluster, err := admin.open(conn, in.ConnectLimit)
	if err != nil {
		return nil, err
	}
	version, err := cluster.version()
	if err != nil {
		return nil, err
	}
	return &entry{conn, admin, cluster, version}, nil
}

// otherNode returns a function that reports whether a host name is the address of another node than
// this one. kubeadm writes the address of the first control plane into the admin.conf of all. If there
// is a load balancer, no address counts as that of another node.
func (in Input) otherNode(master contract.Node) func(host string) bool {
	return func(host string) bool {
		if in.Request.ExternalEndpoint() || host == master.Address {
			return false
		}
		at := func(n contract.Node) bool { return n.Address == host }
		return slices.ContainsFunc(in.Nodes, at) || slices.ContainsFunc(in.Request.Members, at)
	}
}

// adminPath is the path of the administrator's kubeconfig on a control plane. kubespray runs
// kubeadm, which writes the file.
const adminPath = "/etc/kubernetes/admin.conf"

func readAdmin(ctx context.Context, in Input, conn node.Connection, master contract.Node) (*admin, error) {
	ctx, cancel := context.WithTimeout(ctx, in.ConnectLimit)
	defer cancel()
	text, err := conn.Output(ctx, node.AsRoot(in.Request, "cat "+adminPath), 256<<10)
	var exit *ssh.ExitError
	switch {
	case errors.As(err, &exit):
		return nil, &task.Error{Reason: contract.ReasonClusterUnhealthy, Host: master.Name, Step: "read " + adminPath, Err: exit}
	case err != nil:
		return nil, &task.Error{Reason: node.Reason(err), Host: master.Name, Step: "read " + adminPath, Err: err}
	}
	admin, err := parseAdmin(text, master.Address, in.otherNode(master))
	if err != nil {
		return nil, &task.Error{Reason: contract.ReasonClusterUnhealthy, Host: master.Name, Step: "read " + adminPath, Err: err}
	}
	return admin, nil
}
