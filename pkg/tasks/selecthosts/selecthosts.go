package selecthosts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts/assign"
	"github.com/akraino-icn/bpa/pkg/hosts/claim"
	"github.com/akraino-icn/bpa/pkg/hosts/imaging"
	"github.com/akraino-icn/bpa/pkg/tasks/kube"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Input is what the task is given.
type Input struct {
	Request contract.Request
}

// Output is what the task finds out, a field per result.
type Output struct {
	Hosts string // "master-1=host-3 worker-1=host-1", cut to contract.MaxText
	Count int
}

// Results are the output as Tekton's results.
func (o Output) Results() map[string]string {
	return map[string]string{contract.ResultHosts: o.Hosts, contract.ResultCount: fmt.Sprint(o.Count)}
}

// Ports are what the task works with.
type Ports struct {
	Hosts     client.WithWatch // reads from the API server, not from a cache
	Inventory Inventory
	Log       io.Writer
}

// Inventory keeps the nodes for the tasks that follow.
type Inventory interface {
	Set(ctx context.Context, key, value string) error
}

// Run claims the hosts, all or none, waits until each has an operating system, and stores the nodes. Run twice it changes nothing.
func Run(ctx context.Context, in Input, ports Ports) (Output, error) {
	fmt.Fprintf(ports.Log, "Nodes that %s/%s asks for: %d\n", in.Request.Namespace, in.Request.Provisioning, wanted(in.Request))
	claimed, err := claim.Make(ctx, ports.Hosts, in.Request)
	if err != nil {
		explain(ports.Log, err)
		return Output{}, because(err)
	}
	if err := complete(ctx, in.Request, claimed, ports); err != nil {
		if failed := claimed.Undo(ctx); failed != nil {
			err = fmt.Errorf("%w; then %w", err, failed)
		}
		return Output{}, because(err)
	}
	logClaim(ports.Log, in.Request, claimed)
	return output(claimed.Nodes), nil
}

// wanted is how many nodes a request asks for.
func wanted(request contract.Request) int {
	n := len(request.Slots)
	for _, set := range request.Sets {
		n += set.Active + set.Standby
	}
	return n
}

// complete makes of hosts that are held nodes that can be installed: the controller sees that they are, and asks Metal3 for their operating system.
// After a failure here the hosts are released.
func complete(ctx context.Context, request contract.Request, claimed *claim.Claim, ports Ports) error {
	if request.OSImage != nil {
		if err := imaging.Await(ctx, ports.Hosts, request, awaited(request, claimed.Nodes), ports.Log); err != nil {
			return err
		}
		if err := claimed.Refresh(ctx); err != nil {
			return err
		}
	}
	return store(ctx, ports.Inventory, claimed.Nodes)
}

// awaited are the nodes without whose operating system the run cannot go on. A cluster that is there needs none of its standby hosts for that: to
// wait for a new one, or to fail with it, would keep the place of a lost worker empty.
func awaited(request contract.Request, nodes []contract.Node) []contract.Node {
	if len(request.Installed) == 0 {
		return nodes
	}
	return slices.DeleteFunc(slices.Clone(nodes), func(n contract.Node) bool { return n.Standby })
}

func store(ctx context.Context, inventory Inventory, nodes []contract.Node) error {
	text, err := json.MarshalIndent(nodes, "", "  ")
	if err != nil {
		return err
	}
	return inventory.Set(ctx, contract.KeyNodes, string(text)+"\n")
}

func output(nodes []contract.Node) Output {
	var pairs []string
	for _, node := range nodes {
		pairs = append(pairs, node.Name+"="+node.Host)
	}
	return Output{Hosts: task.Cut(strings.Join(pairs, " "), contract.MaxText), Count: len(nodes)}
}

// because gives an error of the claim its reason.
func because(err error) error {
	var nofit *assign.NoFit
	var address *assign.AddressError
	var imaged *imaging.Failed
	var secrets *claim.MissingSecrets
	switch {
	case errors.As(err, &nofit), errors.Is(err, claim.ErrContested):
		return task.Because(contract.ReasonHostsNotAvailable, err)
	case errors.As(err, &address):
		return &task.Error{Reason: contract.ReasonAddressMissing, Host: address.Node, Err: err}
	case errors.As(err, &imaged):
		return &task.Error{Reason: contract.ReasonHostProvisioningFailed, Host: imaged.Node, Err: err}
	case errors.As(err, &secrets):
		return task.Because(contract.ReasonInvalidRequest, err)
	case aboutSecret(err):
		return task.Because(contract.ReasonAPIUnavailable, err)
	}
	return task.Because(kube.Reason(err), err)
}

// aboutSecret: the right to read a Secret is missing. The Role names those of the hosts that there were when the run started; of a host that came
// since the next run's Role names them.
func aboutSecret(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsForbidden(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Kind == "secrets"
}
