package renderinventory

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/inventory"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Input holds the parameters of one run.
type Input struct {
	Request contract.Request
	Nodes   []contract.Node
	// Pins are the checksums that seed-registry has read from the depot, for files without a
	// checksum in the playbooks.
	Pins inventory.Pins
}

// Output holds the results of one run.
type Output struct {
	Digest string // digest of the rendered inventory, as sha256:hex
}

// Results returns the output as Tekton results, by name.
func (o Output) Results() map[string]string {
	return map[string]string{contract.ResultInventoryDigest: o.Digest}
}

// Ports are the functions and objects through which the task reaches the outside.
type Ports struct {
	Inventory Inventory
	// Reason returns the failure reason of an error that Inventory has returned.
	Reason func(error) contract.Reason
	Log    io.Writer
}

// Inventory stores the files that later tasks read.
type Inventory interface {
	Set(ctx context.Context, key, value string) error
}

// Run renders the inventory and stores it. A second run with the same input changes nothing.
func Run(ctx context.Context, in Input, ports Ports) (Output, error) {
	rendered, err := render(in)
	if err != nil {
		return Output{}, task.Because(contract.ReasonInvalidRequest, err)
	}
	logInventory(ports.Log, in.Request, rendered)
	for key, text := range map[string][]byte{contract.KeyHostsINI: rendered.HostsINI, contract.KeyGroupVars: rendered.GroupVars} {
		if err := ports.Inventory.Set(ctx, key, string(text)); err != nil {
			return Output{}, task.Because(ports.Reason(err), err)
		}
	}
	return Output{Digest: rendered.Digest()}, nil
}

// render checks that the nodes are those of this request, and not of an earlier one. Then it
// renders the inventory. It ignores standby nodes, because nothing is installed on them.
func render(in Input) (inventory.Inventory, error) {
	nodes := slices.DeleteFunc(slices.Clone(in.Nodes), func(n contract.Node) bool { return n.Standby })
	var wanted, got []string
	for _, slot := range in.Request.Slots {
		wanted = append(wanted, slot.Name)
	}
	for _, set := range in.Request.Sets {
		wanted = append(wanted, slices.Repeat([]string{set.Name + "-*"}, set.Active)...)
	}
	for _, node := range nodes {
		name := node.Name
		if node.Set != "" {
			name = node.Set + "-*" // only the claim decides which numbers the nodes of a set have
		}
		got = append(got, name)
	}
	if !slices.Equal(wanted, got) {
		return inventory.Inventory{}, fmt.Errorf("the request asks for nodes %v, but hosts are claimed for %v", wanted, got)
	}
	return inventory.RenderPinned(in.Request, nodes, in.Pins)
}
