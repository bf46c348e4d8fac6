package installplugins

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/plugin"
	"github.com/akraino-icn/bpa/pkg/plugin/cluster"
	"github.com/akraino-icn/bpa/pkg/plugin/render"
	"github.com/akraino-icn/bpa/pkg/tasks/plugins"
)

// installOne installs or skips one plugin, and stores its state. before has the states of the plugins before
// it, among them those that it needs. An error ends the task; a failure of the plugin does not.
func (r *run) installOne(ctx context.Context, f plugins.Found, before map[string]contract.PluginStatus) (contract.PluginStatus, error) {
	row := contract.PluginStatus{Name: f.Name, Version: f.Version, Intent: f.Intent}
	skip, failed := hindrance(f, before)
	if skip == "" && len(r.nodesOf(f.Hosts)) == 0 && !r.has(f.Name) { // other hosts were claimed than planned
		skip = "no node of the cluster meets its requirements"
	}
	switch {
	case skip != "":
		return r.skip(ctx, row, skip)
	case failed != "":
		row.State, row.Message = contract.PluginFailed, failed
		return row, r.conclude(ctx, row)
	}
	r.step("Install", f.Name+" "+f.Version)
	for _, need := range f.Definition.Needs {
		if failedItsTest(before[need]) {
			fmt.Fprintf(r.ports.Log, "  it needs %s, which is ready although its test failed\n", need)
		}
	}
	var err error
	if row.Digest, err = f.Definition.Applied(f.Parameters); err != nil {
		row.State, row.Message = contract.PluginFailed, text(err)
		return row, r.conclude(ctx, row)
	}
	row.State, row.Message = contract.PluginInstalling, ""
	if err := r.record.set(ctx, row); err != nil {
		return row, err
	}
	row.Test, err = r.install(ctx, f)
	if stop := ended(ctx); stop != nil {
		return row, stop
	}
	row.State, row.Message = contract.PluginInstalled, ""
	switch {
	case err != nil:
		row.State, row.Message = contract.PluginFailed, text(err)
	case row.Test.State == contract.TestFailed:
		row.State, row.Message = contract.PluginFailed, text(fmt.Errorf("its test failed: %s", row.Test.Message))
	}
	return row, r.conclude(ctx, row)
}

// conclude stores and logs the state of a plugin.
func (r *run) conclude(ctx context.Context, row contract.PluginStatus) error {
	line := fmt.Sprintf("  %s: %s", row.Name, row.State)
	if row.Message != "" {
		line += ": " + row.Message
	}
	if row.Test.State == contract.TestPassed {
		line += ", test passed"
	}
	fmt.Fprintln(r.ports.Log, line)
	return r.record.set(ctx, row)
}

// hindrance returns why a plugin is skipped, or else why it cannot be installed.
func hindrance(f plugins.Found, before map[string]contract.PluginStatus) (skip, failed string) {
	if f.Skip != "" {
		return f.Skip, ""
	}
	for _, need := range f.Definition.Needs {
		switch p := before[need]; {
		case p.State == contract.PluginSkipped:
			return fmt.Sprintf("it needs %s, which is skipped: %s", need, p.Message), ""
		case p.State == contract.PluginInstalled, failedItsTest(p):
		default:
			failed = fmt.Sprintf("it needs %s, which is not installed", need)
		}
	}
	if f.Err != nil {
		return "", text(f.Err)
	}
	return "", failed
}

// failedItsTest reports whether the objects of a plugin are ready and its test has failed.
func failedItsTest(p contract.PluginStatus) bool {
	return p.State == contract.PluginFailed && p.Test.State == contract.TestFailed
}

// skip makes sure that the cluster has nothing of the plugin.
func (r *run) skip(ctx context.Context, row contract.PluginStatus, why string) (contract.PluginStatus, error) {
	if r.has(row.Name) {
		r.step("Remove", row.Name)
		if err := r.clear(ctx, row.Name); err != nil {
			if stop := ended(ctx); stop != nil {
				return row, stop
			}
			row.State, row.Message = contract.PluginFailed, text(fmt.Errorf("it is to be skipped (%s), and could not be removed: %w", why, err))
			return row, r.conclude(ctx, row)
		}
		if err := r.record.forget(ctx, row.Name); err != nil {
			return row, err
		}
	} else {
		r.step("Skip", row.Name)
	}
	row.State, row.Message = contract.PluginSkipped, why
	row.Test = contract.PluginTest{State: contract.TestSkipped, Message: "the plugin is skipped"}
	return row, r.conclude(ctx, row)
}

// install runs the playbook of a plugin, applies its objects, waits until they are ready, and runs the test.
func (r *run) install(ctx context.Context, f plugins.Found) (contract.PluginTest, error) {
	test := contract.PluginTest{State: contract.TestNone}
	if f.Definition.Has(plugin.TestFile) {
		test = contract.PluginTest{State: contract.TestSkipped, Message: "the plugin is not ready"}
	}
	rendered, err := f.Render(r.in.Request)
	if err != nil {
		return test, err
	}
	memory := applied{Version: f.Version, Source: cmp.Or(f.Exact, f.Source), Needs: f.Definition.Needs, Parameters: f.Parameters,
		HasRemove: f.Definition.Has(plugin.RemoveFile)}
	if err := r.record.remember(ctx, f.Name, memory); err != nil {
		return test, err
	}
	if f.Definition.Has(plugin.ConfigureFile) {
		if err := r.play(ctx, f.Definition, plugin.ConfigureFile, f.Parameters, f.Hosts); err != nil {
			return test, err
		}
	}
	if err := r.apply(ctx, f, rendered.Objects); err != nil {
		return test, err
	}
	if rendered.Test == nil {
		return test, nil
	}
	fmt.Fprintf(r.ports.Log, "  testing\n")
	ran, err := r.cluster.Test(ctx, f.Name, rendered.Test, r.in.TestLimit, r.limits())
	if err != nil {
		return contract.PluginTest{State: contract.TestSkipped, Message: text(err)}, fmt.Errorf("its test could not run: %w", err)
	}
	fmt.Fprintf(r.ports.Log, "  test %s: %s\n", ran.State, ran.Message)
	return ran, nil
}

func (r *run) apply(ctx context.Context, f plugins.Found, objects []*unstructured.Unstructured) error {
	fmt.Fprintf(r.ports.Log, "  applying %d objects\n", len(objects))
	set := cluster.Set{Plugin: f.Name, Namespace: render.NamespaceOf(f.Definition), Objects: objects}
	if err := r.cluster.Apply(ctx, set, r.limits()); err != nil {
		return err
	}
	return r.cluster.Ready(ctx, f.Name, objects, r.in.ReadyLimit)
}
