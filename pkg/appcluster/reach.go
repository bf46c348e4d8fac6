package appcluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/kube"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Input says which cluster to reach, and how.
type Input struct {
	Request    contract.Request
	Nodes      []contract.Node
	PrivateKey []byte        // private key of the SSH user, in PEM
	Limit      time.Duration // of the connection to a node, and of that to the API server
}

// Ports are the functions and objects through which a cluster is reached.
type Ports struct {
	Dial node.Dial
	// KnownHosts is the ConfigMap in which the task kubespray has pinned the host keys.
	KnownHosts interface {
		Get(ctx context.Context, key string) (string, error)
	}
	Log io.Writer
}

// Entry is the access to a cluster through one control plane, as the cluster's administrator.
type Entry struct {
	// Kube calls the API server as the administrator.
	Kube     kubernetes.Interface
	CA       []byte // of the API server, in PEM, certificates only
	Endpoint string // https://address:port, where the clients call the API server
	Version  string // of the API server, which has answered, such as v1.35.4

	conn  node.Connection
	admin *admin
	route *route
}

// Close closes the connection to the control plane. The clients of Kube and Config do not work after
// that if they connect through it.
func (e *Entry) Close() { e.conn.Close() }

// Config returns a configuration for clients that call the API server, over the same way, as the user
// of a certificate, in PEM. Calls have no time limit of their own.
func (e *Entry) Config(certificate, key []byte) *rest.Config {
	return &rest.Config{
		Host: e.Endpoint, UserAgent: e.admin.config.UserAgent, Dial: e.route.dial,
		TLSClientConfig: rest.TLSClientConfig{ServerName: e.admin.config.ServerName, CAData: e.admin.config.CAData, CertData: certificate, KeyData: key},
	}
}

// Ask calls the API server at another URL, over the same way, such as that of a load balancer.
func (e *Entry) Ask(server string) error {
	clients, _, err := e.admin.atServer(server).open(e.conn, e.route.limit)
	if err != nil {
		return err
	}
	_, err = versionOf(clients)
	return err
}

// Reach returns the access through the first control plane, in the order of the nodes, that answers by
// SSH and whose API server answers: the others may be dead. If none works, it returns the error of the
// first one. Its errors have a failure reason. The caller closes the entry.
func Reach(ctx context.Context, in Input, ports Ports) (*Entry, error) {
	known, err := ports.KnownHosts.Get(ctx, contract.KeyKnownHosts)
	if err != nil {
		return nil, task.Because(kube.Reason(err), err)
	}
	access, err := node.NewAccess(ports.Dial, in.Request, in.PrivateKey, known, in.Limit)
	if err != nil {
		return nil, err
	}
	log := ports.Log
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
			fmt.Fprintf(log, "The API server at %s runs Kubernetes %s\n", e.Endpoint, e.Version)
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
// plane that has left the cluster. If the spec names a load balancer, enter calls only the API server of this control
// plane. It calls nothing in the cluster of another owner.
func enter(ctx context.Context, in Input, conn node.Connection, master contract.Node) (*Entry, error) {
	if err := checkMark(ctx, in, conn, master); err != nil {
		return nil, err
	}
	admin, err := readAdmin(ctx, in, conn, master)
	if err != nil {
		return nil, err
	}
	if err := checkCA(in, admin, master); err != nil {
		return nil, err
	}
	if in.Request.API.Balanced() { // the load balancer may be what does not work
		return call(in, conn, admin.atServer(contract.APIServerURL(master.Address, in.Request.Vars["kube_apiserver_port"])))
	}
	e, err := call(in, conn, admin)
	if own := admin.at(master.Address); err != nil && own.endpoint != admin.endpoint && !in.Request.ExternalEndpoint() {
		if e, failed := call(in, conn, own); failed == nil {
			return e, nil
		}
	}
	return e, err
}

func call(in Input, conn node.Connection, admin *admin) (*Entry, error) {
	clients, way, err := admin.open(conn, in.Limit)
	if err != nil {
		return nil, err
	}
	version, err := versionOf(clients)
	if err != nil {
		return nil, err
	}
	return &Entry{Kube: clients, CA: admin.ca, Endpoint: admin.endpoint, Version: version, conn: conn, admin: admin, route: way}, nil
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
	ctx, cancel := context.WithTimeout(ctx, in.Limit)
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
