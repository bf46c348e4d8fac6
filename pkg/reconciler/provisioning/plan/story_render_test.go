package plan

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/change"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/kube"
	"github.com/akraino-icn/bpa/pkg/tasks/renderinventory"
)

// renders checks, at this point of a story, that the task render-inventory accepts every operation that
// could be next: the chosen one, and those that a user or a Software can request at any time. An operation
// that claims no host works on the nodes of the record, without lost ones.
func (w *scene) renders(t *testing.T) {
	t.Helper()
	if w.seen.Deleting || w.seen.Invalid != "" || len(w.seen.ActiveRuns()) > 0 {
		return
	}
	var next []change.Step
	if w.last.Do == StartRun {
		next = append(next, change.Step{Operation: w.last.Operation, Request: w.last.Request})
	}
	if state := w.seen.State(); w.seen.Memory != nil && w.seen.Complete() && w.seen.quorum() {
		next = append(next, change.Plugins(state), change.Software(state), change.Check(state))
	}
	for _, step := range next {
		if step.Operation == contract.OperationCollect && w.seen.Memory != nil {
			w.collects(t, step)
		}
		if !contract.OperationOf(step.Operation).Has(contract.TaskRenderInventory) {
			continue
		}
		got, err := w.rendered(t, step)
		if err != nil {
			t.Errorf("%s (%s): %v", step.Operation, step, err)
			continue
		}
		if !worksOnRecord(step.Operation) {
			continue
		}
		if want := w.present(); !slices.Equal(want, got) {
			t.Errorf("%s is rendered for %v, but the record has %v", step.Operation, got, want)
		}
	}
}

// collects checks that the next run collects the kubeconfig from nodes of the record only.
func (w *scene) collects(t *testing.T, step change.Step) {
	t.Helper()
	step.Request.Operation = step.Operation
	var names []string
	for _, n := range step.Request.NodesOf(w.seen.Nodes) {
		names = append(names, n.Name)
	}
	slices.Sort(names)
	if want := w.present(); !slices.Equal(want, names) {
		t.Errorf("the kubeconfig is collected from %v, but the record has %v", names, want)
	}
}

func worksOnRecord(operation string) bool {
	return slices.Contains([]string{contract.OperationPlugins, contract.OperationSoftware}, operation)
}

// present returns the names, sorted, of the nodes of the record whose hosts are not lost.
func (w *scene) present() (names []string) {
	for _, n := range w.seen.Memory.Nodes {
		if !slices.ContainsFunc(w.seen.losses(), func(l Loss) bool { return l.Node.Name == n.Name }) {
			names = append(names, n.Name)
		}
	}
	slices.Sort(names)
	return names
}

// rendered returns the names, sorted, of the nodes in the hosts.ini of an operation that starts now.
func (w *scene) rendered(t *testing.T, step change.Step) ([]string, error) {
	next := *w
	next.seen.Site, next.seen.Runs = maps.Clone(w.seen.Site), slices.Clone(w.seen.Runs)
	next.last = Step{Do: StartRun, Operation: step.Operation, Request: step.Request}
	next.create(t)
	if contract.OperationOf(step.Operation).Has(contract.TaskSelectHosts) {
		next.claim()
	}
	in := renderinventory.Input{Request: step.Request}
	in.Request.Operation = step.Operation
	in.Request.PodSubnet, in.Request.ServiceSubnet, in.Request.NetworkPlugin = "10.244.0.0/16", "10.233.0.0/18", "flannel"
	in.Request.SSHUser, in.Request.SSHPort = "root", 22
	if in.Request.KubernetesVersion == "" {
		in.Request.KubernetesVersion = "1.35.4"
	}
	in.Nodes = slices.DeleteFunc(slices.Clone(next.seen.Nodes), func(n contract.Node) bool { return n.Standby })
	files := inventoryFiles{}
	_, err := renderinventory.Run(t.Context(), in, renderinventory.Ports{Inventory: files, Reason: kube.Reason, Log: &bytes.Buffer{}})
	var names []string
	for line := range strings.Lines(files[contract.KeyHostsINI]) {
		if name, _, is := strings.Cut(line, " ansible_host="); is {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, err
}

// inventoryFiles keeps the files that render-inventory stores.
type inventoryFiles map[string]string

func (f inventoryFiles) Set(_ context.Context, key, value string) error {
	f[key] = value
	return nil
}
