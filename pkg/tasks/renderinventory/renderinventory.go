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
	for _, file := range []struct {
		key  string
		text []byte
	}{{contract.KeyHostsINI, rendered.HostsINI}, {contract.KeyGroupVars, rendered.GroupVars}} {
		if err := ports.Inventory.Set(ctx, file.key, string(file.text)); err != nil {
			return Output{}, task.Because(ports.Reason(err), err)
		}
	}
	return Output{Digest: rendered.Digest()}, nil
}

// render checks that the nodes are those of this request, and not of an earlier one. Then it
// renders the inventory. It ignores standby nodes, because nothing is installed on them.
//
// The nodes of a run that claims no host are those of the record. The request of such a run has them, so they are
// compared only if nodes leave.
func render(in Input) (inventory.Inventory, error) {
	nodes := in.Request.NodesOf(in.Nodes)
	switch remove := in.Request.Remove; {
	case remove != nil:
		if wanted, got := requested(in.Request), staying(*remove, in.Request.Members); !sameItems(wanted, got) {
			return inventory.Inventory{}, fmt.Errorf("the cluster is to keep the nodes %v, but without the nodes that leave it has %v", wanted, got)
		}
		nodes = slices.DeleteFunc(nodes, func(n contract.Node) bool { return n.Address == "" && in.Request.Removes(n) }) // no playbook can reach it
	case !in.Request.OfRecord():
		if wanted, got := requested(in.Request), places(nodes); !sameItems(wanted, got) {
			return inventory.Inventory{}, fmt.Errorf("the request asks for nodes %v, but hosts are claimed for %v", wanted, got)
		}
	}
	return inventory.RenderPinned(in.Request, nodes, in.Pins)
}

// requested returns the names of the requested nodes. A node of a set has the name SET-*, because
// only the claim decides which numbers the nodes of a set have.
func requested(request contract.Request) []string {
	var names []string
	for _, slot := range request.Slots {
		names = append(names, slot.Name)
	}
	for _, set := range request.Sets {
		names = append(names, slices.Repeat([]string{inSet(set.Name)}, set.Active)...)
	}
	return names
}

// places returns what the nodes are in the names of requested.
func places(nodes []contract.Node) []string {
	var names []string
	for _, n := range nodes {
		if n.Set != "" {
			names = append(names, inSet(n.Set))
		} else {
			names = append(names, n.Name)
		}
	}
	return names
}

// staying returns what the nodes that a run does not remove are in the names of requested. Which
// nodes of a set leave is not known here, so it leaves out as many as leave.
func staying(remove contract.Removal, nodes []contract.Node) []string {
	names := places(slices.DeleteFunc(slices.Clone(nodes), func(n contract.Node) bool { return slices.Contains(remove.Nodes, n.Name) }))
	for _, s := range remove.Sets {
		for range s.Count {
			if i := slices.Index(names, inSet(s.Name)); i >= 0 {
				names = slices.Delete(names, i, i+1)
			}
		}
	}
	return names
}

func sameItems(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func inSet(set string) string { return set + "-*" }
