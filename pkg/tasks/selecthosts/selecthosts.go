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
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/assign"
	"github.com/akraino-icn/bpa/pkg/hosts/claim"
	"github.com/akraino-icn/bpa/pkg/hosts/imaging"
	"github.com/akraino-icn/bpa/pkg/tasks/kube"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Input holds the parameters of one run.
type Input struct {
	Request contract.Request
}

// Output holds the results of one run.
type Output struct {
	Hosts string // such as "master-1=host-3 worker-1=host-1"; longer text is cut to contract.MaxText
	Count int
}

// Results returns the output as Tekton results, by name.
func (o Output) Results() map[string]string {
	return map[string]string{contract.ResultHosts: o.Hosts, contract.ResultCount: fmt.Sprint(o.Count)}
}

// Ports are the functions and objects through which the task reaches the outside.
type Ports struct {
	Hosts client.WithWatch // reads from the API server, not from a cache
	// Record is the record of the cluster, which outlives the run. Outcome is for the later tasks of the run.
	Record, Outcome Store
	Log             io.Writer
}

// Store stores the nodes.
type Store interface {
	Set(ctx context.Context, key, value string) error
}

// Run claims a host for every node, or none at all. Then it waits until each host has an operating
// system, and stores the nodes. A second run with the same input changes nothing.
//
// As soon as hosts can receive an image, Run releases no claimed host any more, also after a
// failure or a signal. The next run continues with the same hosts.
func Run(ctx context.Context, in Input, ports Ports) (Output, error) {
	fmt.Fprintf(ports.Log, "Nodes that %s/%s asks for: %d\n", in.Request.Namespace, in.Request.Provisioning, wanted(in.Request))
	claimed, err := claim.Make(ctx, ports.Hosts, in.Request)
	if err != nil {
		explain(ports.Log, err)
		return Output{}, because(err)
	}
	if in.Request.OSImage != nil {
		claimed.Keep()
	}
	if err := complete(ctx, in.Request, claimed, ports); err != nil {
		if failed := claimed.Undo(ctx); failed != nil {
			err = fmt.Errorf("%w; releasing the claimed hosts failed too: %w", err, failed)
		}
		return Output{}, because(err)
	}
	logClaim(ports.Log, in.Request, claimed)
	return output(claimed.Nodes), nil
}

// wanted returns the number of nodes that a request asks for.
func wanted(request contract.Request) int {
	n := len(request.Slots)
	for _, set := range request.Sets {
		n += set.Active + set.Standby
	}
	return n
}

// complete prepares the claimed hosts for the installation. If the request has an OS image, it
// waits until the hosts run that image: the controller notices the claims and asks Metal3 to
// install it. Then complete stores the nodes. If complete fails, the caller must release the hosts
// that are not kept.
func complete(ctx context.Context, request contract.Request, claimed *claim.Claim, ports Ports) error {
	if request.OSImage != nil {
		if err := image(ctx, request, claimed, ports); err != nil {
			return err
		}
		if err := claimed.Refresh(ctx); err != nil {
			return err
		}
	}
	return store(ctx, ports, claimed.Nodes)
}

// image waits until the hosts run the image. A host on which Metal3 fails is replaced alone. If no
// other host fits, image returns the failure of that host and the reason. If the image is wrong, it
// gives up the hosts that have not received it.
func image(ctx context.Context, request contract.Request, claimed *claim.Claim, ports Ports) error {
	waiter := imaging.NewWaiter(ports.Hosts, request, ports.Log)
	for {
		err := waiter.Await(ctx, awaited(request, claimed.Nodes))
		var failed *imaging.Failed
		switch {
		case !errors.As(err, &failed) || failed.Kind == imaging.Gone:
			return err
		case failed.Kind == imaging.BadImage:
			// Metal3 would go on with the wrong image or checksum, also after the user has uploaded the
			// image again.
			return errors.Join(err, claimed.GiveUp(ctx, failed.Open))
		}
		fmt.Fprintf(ports.Log, "%v\nHost %s is given up; another host is claimed for %s.\n", err, failed.Host, failed.Node)
		if none := claimed.Replace(ctx, failed.Host); none != nil {
			explain(ports.Log, none)
			return fmt.Errorf("%w; no other host replaces it: %w", err, none)
		}
	}
}

// awaited returns the nodes whose hosts must have their operating system before the run can
// continue. In an installed cluster, these are only the active nodes. A new standby host must not
// delay or fail the run, because the run may replace a lost worker.
func awaited(request contract.Request, nodes []contract.Node) []contract.Node {
	if len(request.Installed) == 0 {
		return nodes
	}
	return slices.DeleteFunc(slices.Clone(nodes), func(n contract.Node) bool { return n.Standby })
}

// store writes the record first: what later runs must know is then never only in what this run leaves behind.
func store(ctx context.Context, ports Ports, nodes []contract.Node) error {
	text, err := json.MarshalIndent(nodes, "", "  ")
	if err != nil {
		return err
	}
	if err := ports.Record.Set(ctx, contract.KeyClaimed, string(text)+"\n"); err != nil {
		return err
	}
	return ports.Outcome.Set(ctx, contract.KeyNodes, string(text)+"\n")
}

func output(nodes []contract.Node) Output {
	var pairs []string
	for _, node := range nodes {
		pairs = append(pairs, node.Name+"="+node.Host)
	}
	return Output{Hosts: task.Cut(strings.Join(pairs, " "), contract.MaxText), Count: len(nodes)}
}

// because adds the failure reason to an error of the claim.
func because(err error) error {
	var nofit *assign.NoFit
	var address *assign.AddressError
	var imaged *imaging.Failed
	var secrets *claim.MissingSecrets
	var limit *hosts.OverLimit
	switch {
	case errors.As(err, &imaged): // first, because the error can also say that no other host replaces this one
		return &task.Error{Reason: contract.ReasonHostProvisioningFailed, Host: imaged.Node, Err: err}
	case errors.As(err, &nofit), errors.As(err, &limit), errors.Is(err, claim.ErrContested):
		return task.Because(contract.ReasonHostsNotAvailable, err)
	case errors.As(err, &address):
		return &task.Error{Reason: contract.ReasonAddressMissing, Host: address.Node, Err: err}
	case errors.As(err, &secrets):
		return task.Because(contract.ReasonInvalidRequest, err)
	case aboutSecret(err):
		return task.Because(contract.ReasonAPIUnavailable, err)
	}
	return task.Because(kube.Reason(err), err)
}

// aboutSecret reports whether the error is a missing permission to read a Secret. This failure is
// transient: the Role of a run names only the Secrets of hosts that existed when the run started,
// and the Role of the next run also names the Secrets of newer hosts.
func aboutSecret(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsForbidden(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Kind == "secrets"
}
