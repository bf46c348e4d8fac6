package backup

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/akraino-icn/bpa/pkg/backup"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/inventory"
	"github.com/akraino-icn/bpa/pkg/tasks/kube"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Input holds the parameters of one run.
type Input struct {
	Request    contract.Request
	PrivateKey []byte // private key of the SSH user, in PEM
	// Artifact is the name of the backup in the depot, and Recipient the public key for which it is
	// encrypted.
	Artifact, Recipient string
	// Depot is the address for writing to the depot.
	Depot string
	// ConnectLimit limits the time to connect to a node and to etcd, and the time of each short command.
	ConnectLimit time.Duration
}

// Output holds the results of one run.
type Output struct {
	SHA256   string // of the encrypted backup
	Size     int64  // in bytes
	Revision int64  // of etcd when the snapshot began
	Member   string // node whose member of etcd made the snapshot
	Version  string // Kubernetes version of that node; empty: not known
}

// Ports are the functions and objects through which the task reaches the outside.
type Ports struct {
	Dial  node.Dial
	Depot func(ctx context.Context, url string) (*client.Depot, error)
	// KnownHosts has the pinned host keys, and Installed the record of the cluster. The task kubespray
	// has written both.
	KnownHosts, Installed interface {
		Get(ctx context.Context, key string) (string, error)
	}
	Log io.Writer
	Now func() time.Time
}

// Results returns the output as Tekton results, by name.
func (o Output) Results() map[string]string {
	return map[string]string{
		contract.ResultSHA256: o.SHA256, contract.ResultSize: strconv.FormatInt(o.Size, 10), contract.ResultRevision: strconv.FormatInt(o.Revision, 10),
		contract.ResultMember: o.Member, contract.ResultVersion: cmp.Or(o.Version, contract.None),
	}
}

// Run backs up the cluster through the first control plane, in the order of the record, whose member of
// etcd is healthy. If it is called again after the upload succeeded, the depot refuses the second
// backup, because it has other bytes.
func Run(ctx context.Context, in Input, ports Ports) (Output, error) {
	place := backup.Place(in.Request.Namespace, in.Request.Provisioning, in.Artifact)
	if err := place.Validate(); err != nil {
		return Output{}, task.Because(contract.ReasonInvalidRequest, fmt.Errorf("the name of the backup in the depot: %w", err))
	}
	if in.Depot == "" {
		return Output{}, task.Because(contract.ReasonInvalidRequest, fmt.Errorf("there is no depot to store the backup in: set depot-url in ConfigMap config-bpa, or spec.depot.url"))
	}
	installed, text, err := readInstalled(ctx, ports)
	if err != nil {
		return Output{}, err
	}
	known, err := ports.KnownHosts.Get(ctx, contract.KeyKnownHosts)
	if err != nil {
		return Output{}, task.Because(kube.Reason(err), err)
	}
	access, err := node.NewAccess(ports.Dial, in.Request, in.PrivateKey, known, in.ConnectLimit)
	if err != nil {
		return Output{}, err
	}
	depot, err := ports.Depot(ctx, in.Depot)
	if err != nil {
		return Output{}, task.Because(contract.ReasonDepotUnavailable, err)
	}
	defer depot.Close()
	source, err := findSource(ctx, in, access, installed.Nodes, ports.Log)
	if err != nil {
		return Output{}, err
	}
	defer source.close()
	version, _ := installed.Level(source.node)
	r := run{in: in, ports: ports, depot: depot, place: place, source: source, version: version, installed: text, inventory: renderRecord(ctx, installed, ports)}
	return r.upload(ctx)
}

// readInstalled returns the record of the cluster, and its text.
func readInstalled(ctx context.Context, ports Ports) (contract.Installed, string, error) {
	var installed contract.Installed
	text, err := ports.Installed.Get(ctx, contract.KeyInstalled)
	if err != nil {
		return installed, "", task.Because(kube.Reason(err), err)
	}
	if err := json.Unmarshal([]byte(text), &installed); err != nil || len(node.ControlPlanes(installed.Nodes)) == 0 {
		return installed, "", task.Because(contract.ReasonInvalidRequest, fmt.Errorf("the record of the cluster names no control plane (%v): "+
			"any change of the cluster, such as another worker, writes it again", err))
	}
	return installed, text, nil
}

// renderRecord returns the inventory of the cluster, for a restore by hand. The copy is complete without it, so a record from
// which it cannot be rendered is only reported.
func renderRecord(ctx context.Context, installed contract.Installed, ports Ports) inventory.Inventory {
	var claimed []contract.Node
	text, err := ports.Installed.Get(ctx, contract.KeyClaimed)
	if err == nil && text != "" {
		err = json.Unmarshal([]byte(text), &claimed)
	}
	if err != nil {
		fmt.Fprintf(ports.Log, "The inventory has the addresses of the record: %v\n", err)
	}
	rendered, err := inventory.RenderRecord(installed, claimed)
	if err != nil {
		fmt.Fprintf(ports.Log, "The copy gets no %s and no %s: %v\n", contract.KeyHostsINI, contract.KeyGroupVars, err)
		return inventory.Inventory{}
	}
	return rendered
}

// findSource returns the first control plane that answers by SSH, has all keys, and whose member of
// etcd is healthy. If there is none, it returns the error of the first one.
func findSource(ctx context.Context, in Input, access node.Access, nodes []contract.Node, log io.Writer) (*source, error) {
	var first error
	for planes := node.ControlPlanes(nodes); ; {
		conn, plane, err := access.FirstControlPlane(ctx, planes)
		if err != nil {
			return nil, cmp.Or(first, err)
		}
		fmt.Fprintf(log, "Connected to %s (%s)\n", plane.Name, plane.Address)
		s, err := open(ctx, in, conn, plane)
		if err == nil {
			return s, nil
		}
		conn.Close()
		fmt.Fprintf(log, "  %v\n", err)
		first = cmp.Or(first, err)
		planes = planes[1+slices.IndexFunc(planes, func(n contract.Node) bool { return n.Name == plane.Name }):]
		if len(planes) == 0 || ctx.Err() != nil {
			return nil, first
		}
	}
}
