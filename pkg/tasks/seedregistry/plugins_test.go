package seedregistry

import (
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/plugin"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// shipped returns a shipped plugin that has images, as a request lists it.
func shipped(t *testing.T, name string) contract.Plugin {
	t.Helper()
	p, ok := plugin.Shipped()[name]
	if !ok {
		t.Fatalf("plugin %s is not shipped", name)
	}
	return contract.Plugin{Name: name, Version: p.Version, Digest: p.Digest()}
}

// The images of plugins are part of the check, unless the plugin is skipped. A site's own plugin that the depot
// does not have ends the run here.
func TestPluginsAreChecked(t *testing.T) {
	w := newFixture(t, 1)
	in := w.closed()
	in.List = artifacts.List{}
	in.Request = contract.Request{Spec: contract.Spec{KubernetesVersion: "1.35.4", Plugins: []contract.Plugin{shipped(t, "multus")}}}
	_, err := Run(t.Context(), in, w.ports())
	if f := task.FailureOf(err); f.Reason != contract.ReasonArtifactsMissing || !strings.Contains(f.Message, "multus") {
		t.Errorf("an image of a plugin that is not in the depot: %+v", f)
	}
	in.Request.Plugins[0].Skip = "no node fits"
	if _, err := Run(t.Context(), in, w.ports()); err != nil {
		t.Errorf("the images of a skipped plugin: %v", err)
	}
	in.Request.Plugins = []contract.Plugin{{Name: "own", Version: "v1", Source: "plugins/own:v1"}}
	_, err = Run(t.Context(), in, w.ports())
	if f := task.FailureOf(err); f.Reason != contract.ReasonArtifactsMissing || !strings.Contains(f.Message, "push it with `kubectl bpa plugins push DIR`") {
		t.Errorf("a site's own plugin that is not in the depot: %+v", f)
	}
	in.Depot = ""
	_, err = Run(t.Context(), in, w.ports())
	if f := task.FailureOf(err); f.Reason != contract.ReasonDepotUnavailable || !strings.Contains(f.Message, "uses no depot") {
		t.Errorf("a site's own plugin without a depot: %+v", f)
	}
}

// A plugin that cannot be installed does not keep a run from replacing lost nodes, and from restoring a
// backup. Only a run that is for plugins ends.
func TestPluginsDoNotKeepARepair(t *testing.T) {
	for name, broken := range map[string]contract.Plugin{
		"an image that is not in the depot": shipped(t, "multus"),
		"not in the depot":                  {Name: "own", Version: "v1", Source: "plugins/own:v1"},
		"of another build":                  {Name: "multus", Version: "v0"},
	} {
		for _, operation := range []string{contract.OperationAddNodes, contract.OperationRestore, contract.OperationPlugins, contract.OperationInstall} {
			for _, connected := range []bool{true, false} {
				w := newFixture(t, 1)
				in := w.closed()
				in.List = artifacts.List{}
				if !connected {
					in.Depot = ""
				}
				in.Request = contract.Request{Spec: contract.Spec{KubernetesVersion: "1.35.4", Plugins: []contract.Plugin{broken}}, Order: contract.Order{Operation: operation}, Record: contract.Record{Complete: operation != contract.OperationInstall}}
				_, err := Run(t.Context(), in, w.ports())
				ends := operation == contract.OperationPlugins || operation == contract.OperationInstall
				if ends = ends && (connected || broken.Source != "" || broken.Version == "v0"); ends != (err != nil) {
					t.Errorf("%s, %s, depot %t: %v", name, operation, connected, err)
				}
				if said := strings.Contains(w.log.String(), broken.Name); !ends && connected && !said {
					t.Errorf("%s, %s: the log does not say it:\n%s", name, operation, w.log.String())
				}
			}
		}
	}
}

// What the nodes need must be in the depot all the same.
func TestARepairNeedsItsOwnArtifacts(t *testing.T) {
	w := newFixture(t, 1)
	in := w.closed()
	in.Request = contract.Request{Spec: contract.Spec{KubernetesVersion: "1.35.4", Plugins: []contract.Plugin{shipped(t, "multus")}}, Order: contract.Order{Operation: contract.OperationAddNodes}, Record: contract.Record{Complete: true}}
	if _, err := Run(t.Context(), in, w.ports()); task.FailureOf(err).Reason != contract.ReasonArtifactsMissing {
		t.Errorf("error %v", err)
	}
}
