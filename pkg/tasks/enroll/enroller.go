package enroll

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/kube"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// memberLimit bounds the time of the first connection to a machine on which the run installs nothing.
const memberLimit = 5 * time.Second

// errNotAuthorized reports that a machine does not accept the key of the cluster although it was installed.
var errNotAuthorized = errors.New("it does not accept the SSH key of the cluster, which is in .ssh/authorized_keys of the login user")

// Run installs the SSH key of the cluster, in.PrivateKey, on the machines of in.Nodes that do not accept it.
// It connects to these with the key of the site. It never changes a machine that has another cluster, or
// that is not the host.
//
// It fails if a machine cannot be enrolled on which the run is to install a node: the run would fail there anyway. It also fails
// if a check of these machines does (see check). In both cases it has changed no machine.
// It leaves out other machines, because a run goes on without a node that is down. The run then
// reports a machine that it needs.
//
// It pins no host key. Without a pinned key, the key of a cluster can reach a wrong machine, which gains nothing by it. The task
// kubespray pins the host keys, at its own first contact.
func Run(ctx context.Context, in session.Input, siteKey []byte, ports Ports) error {
	own, err := ssh.ParseKey(in.PrivateKey)
	if err != nil {
		return task.Because(contract.ReasonInvalidRequest, fmt.Errorf("the key of the cluster in Secret %s: %s %w. Delete the Secret: the next run makes another key", contract.NodesKeyName(in.Request.Provisioning), node.KeyFile, err))
	}
	site, err := ssh.ParseKey(siteKey)
	if err != nil {
		return task.Because(contract.ReasonInvalidRequest, fmt.Errorf("the SSH Secret's %s %w", node.KeyFile, err))
	}
	c, err := session.Recall(ctx, in, ports.Ports)
	if err != nil {
		return err
	}
	if in.Request.Operation == contract.OperationBackup {
		if in.Nodes, err = members(ctx, ports.Ports); err != nil {
			return err
		}
	}
	in.Request.OperatingSystem = "" // the task kubespray checks it
	e := enroller{in: in, c: c, own: own, site: site, ports: ports, line: machine.KeyLine(ssh.PublicLine(own), in.Request.Namespace+"/"+in.Request.Provisioning)}
	fmt.Fprintf(ports.Log, "Connecting to %s by SSH as user %s with the key of the cluster %s\n", session.Count(len(in.Nodes), "host"), in.Request.SSHUser, ssh.Fingerprint(own.PublicKey()))
	visits := session.VisitAll(ctx, in, ports.Log, e.waits, func(n contract.Node) session.Visit { return e.visit(ctx, n) })
	err = e.needed(ctx, visits)
	if err == nil {
		err = e.check(ctx, visits)
	}
	if err == nil {
		session.Each(len(in.Nodes), func(i int) {
			if visits[i].Err == nil && visits[i].Key != nil {
				e.authorize(ctx, in.Nodes[i], &visits[i])
			}
		})
		err = e.needed(ctx, visits)
	}
	session.LogVisits(in, visits, ports.Log)
	return err
}

// needed returns the worst error of the machines that the run cannot do without.
func (e enroller) needed(ctx context.Context, visits []session.Visit) error {
	if err := session.Stopped(ctx, "the enrollment"); err != nil {
		return err
	}
	visits = slices.Clone(visits)
	for i, n := range e.in.Nodes {
		if !e.needs(n) {
			visits[i].Err = nil
		}
	}
	return session.Worst(e.in, visits)
}

// members returns the nodes of the record, at the addresses at which select-hosts has seen their hosts at last.
func members(ctx context.Context, ports session.Ports) ([]contract.Node, error) {
	installed, err := session.ReadClusterRecord(ctx, ports.Installed)
	if err != nil {
		return nil, err
	}
	text, err := ports.Installed.Get(ctx, contract.KeyClaimed)
	if err != nil {
		return nil, task.Because(kube.Reason(err), err)
	}
	var claimed []contract.Node
	if text != "" {
		if err := json.Unmarshal([]byte(text), &claimed); err != nil {
			return nil, task.Because(contract.ReasonInvalidRequest, fmt.Errorf("read %s: %w", contract.KeyClaimed, err))
		}
	}
	request := contract.Request{Record: contract.Record{Members: installed.Now.Nodes}}
	request.Readdress(claimed)
	return request.Members, nil
}

// enroller installs the key of one cluster.
type enroller struct {
	in        session.Input
	c         session.Contact
	own, site ssh.Key
	line      string // of authorized_keys
	ports     Ports
}

// claims reports whether the run claims hosts for its nodes.
func (e enroller) claims() bool {
	operation := e.in.Request.Operation
	return operation != contract.OperationBackup && contract.OperationOf(operation).Has(contract.TaskSelectHosts) // a Backup is none of the operations that OperationOf knows
}

// needs reports whether the run is to install a node on this machine for the first time.
func (e enroller) needs(n contract.Node) bool {
	return e.claims() && e.c.States[n.HostUID] != contract.HostUsed
}

// waits reports whether the task waits until a machine answers. A reset waits too, because it would not clean a machine
// that denies the key.
func (e enroller) waits(n contract.Node) bool {
	return e.needs(n) || e.in.Playbook == contract.PlaybookReset
}

// visit finds out whether a machine accepts the key of the cluster, and otherwise whether it may get it. It changes nothing. The
// visit of a machine that is to get the key has its host key.
func (e enroller) visit(ctx context.Context, n contract.Node) session.Visit {
	in, pinned := e.in, e.c.Pins.Of(n.HostUID)
	if n.Address == "" {
		return session.Visit{Err: session.ErrNoAddress}
	}
	if e.claims() {
		pinned = e.c.Expected(in, n)
	}
	first := in
	if !e.needs(n) {
		first.ConnectLimit = min(in.ConnectLimit, memberLimit)
	}
	conn, err := session.Dial(ctx, first, n, e.own, pinned, e.ports.Ports)
	if err == nil {
		conn.Close()
		return session.Visit{Notes: []string{"it accepts the key of the cluster"}}
	}
	if !errors.Is(err, ssh.ErrDenied) {
		return session.Visit{Err: err}
	}
	v := session.ProbeNode(ctx, in, n, e.site, pinned, e.ports.Ports)
	if v.Err == nil {
		v.Err = e.checkOwner(n, v.Report)
	}
	return v
}

// authorize installs the key of the cluster on one machine, which must be the one of the visit.
func (e enroller) authorize(ctx context.Context, n contract.Node, v *session.Visit) {
	v.Err = session.OnMachine(ctx, e.in, n, e.site, v.Key, e.ports.Ports, func(ctx context.Context, sh machine.Shell) error {
		return e.ports.Machines.Authorize(ctx, sh, e.line)
	})
	if v.Err != nil {
		return
	}
	conn, err := session.Dial(ctx, e.in, n, e.own, v.Key, e.ports.Ports)
	if err != nil {
		v.Err = err
		if errors.Is(err, ssh.ErrDenied) {
			v.Err = fmt.Errorf("%w: %w: check AuthorizedKeysFile of its SSH server", ssh.ErrDenied, errNotAuthorized)
		}
		return
	}
	conn.Close()
	v.Notes = append(v.Notes, "the key of the cluster is installed")
}

// checkOwner returns an error if a Kubernetes of another owner is on a machine: root on it is then not for this
// cluster.
func (e enroller) checkOwner(n contract.Node, r machine.Report) error {
	if !e.claims() {
		return e.c.CheckOwn(e.in, n, r)
	}
	if len(r.Kubernetes) > 0 && r.User != (contract.User{}) && r.User.UID != e.in.Request.UID {
		return fmt.Errorf("%w: it has %s; %s", session.ErrOccupied, session.FirstItems(r.Kubernetes), session.DescribeOwner(r.User))
	}
	return e.c.CheckFree(e.in, n, r)
}
