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

// Input is what the task is given.
type Input struct {
	Request contract.Request
	Nodes   []contract.Node
	// Pins are the contents of files that seed-registry has seen in the depot, where those count.
	Pins inventory.Pins
}

// Output is what the task finds out, a field per result.
type Output struct {
	Digest string // sha256:hex of what was rendered
}

// Results are the output as Tekton's results.
func (o Output) Results() map[string]string {
	return map[string]string{contract.ResultInventoryDigest: o.Digest}
}

// Ports are what the task works with.
type Ports struct {
	Inventory Inventory
	// Reason gives an error of Inventory its reason.
	Reason func(error) contract.Reason
	Log    io.Writer
}

// Inventory keeps the files for the tasks that follow.
type Inventory interface {
	Set(ctx context.Context, key, value string) error
}

// Run renders the inventory and stores it. Run twice it changes nothing.
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

// render makes sure that the nodes are those of this request and not of an earlier one. Standby nodes are left out of both.
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
			name = node.Set + "-*" // which numbers, the claim decides
		}
		got = append(got, name)
	}
	if !slices.Equal(wanted, got) {
		return inventory.Inventory{}, fmt.Errorf("the request asks for nodes %v, but hosts are held for %v", wanted, got)
	}
	return inventory.RenderPinned(in.Request, nodes, in.Pins)
}
