package plan

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// plugins makes the plugins of the spec from words: NAME, NAME:PARAMETERS, NAME!why_it_is_skipped or
// NAME<needed-by.
func (w *scene) plugins(words []string) {
	w.seen.Request.Plugins, w.p.Spec.KUDPlugins = nil, nil
	for _, word := range words {
		word, why, _ := strings.Cut(word, "!")
		word, by, needed := strings.Cut(word, "<")
		name, parameters, _ := strings.Cut(word, ":")
		p := contract.Plugin{Name: name, Version: "v1", Skip: strings.ReplaceAll(why, "_", " "), Intent: parameters + why}
		if w.seen.Plugins.Holds(name) { // as package provisioning decides
			p.Skip, p.Intent = "", parameters
		}
		if needed {
			p.NeededBy = []string{by}
		} else {
			w.p.Spec.KUDPlugins = append(w.p.Spec.KUDPlugins, name)
		}
		w.seen.Request.Plugins = append(w.seen.Request.Plugins, p)
	}
}

// pluginInputs identifies the plugins of the spec, as Inputs does.
func (w *scene) pluginInputs() string {
	text := "plugins"
	for _, p := range w.seen.Request.Plugins {
		text += " " + p.Name + p.Intent
	}
	return text
}

// recordPlugin simulates how the task install-plugins stores the state of one plugin: NAME STATE message.
func (w *scene) recordPlugin(words []string) {
	name, state := words[0], contract.PluginState(words[1])
	w.seen.Plugins.Record = slices.Clone(w.seen.Plugins.Record)
	w.seen.Plugins.Record = slices.DeleteFunc(w.seen.Plugins.Record, func(r contract.PluginStatus) bool { return r.Name == name })
	if state == "gone" {
		return
	}
	row := contract.PluginStatus{Name: name, State: state, Message: strings.Join(words[2:], " "), Since: w.now}
	for _, p := range w.seen.Started.Plugins {
		if p.Name == name {
			row.Version, row.Intent = p.Version, p.Intent
		}
	}
	w.seen.Plugins.Record = append(w.seen.Plugins.Record, row)
}

// pluginsSucceed simulates the success of the task install-plugins.
func (w *scene) pluginsSucceed() {
	for _, row := range w.seen.surplusPlugins() {
		w.recordPlugin([]string{row, "gone"})
	}
	for _, p := range w.seen.Started.Plugins {
		switch row := w.seen.Plugins.row(p.Name); {
		case p.Skip != "":
			w.recordPlugin(append([]string{p.Name, "Skipped"}, strings.Fields(p.Skip)...))
		case row == nil || row.State != contract.PluginInstalled || row.Intent != p.Intent || row.Version != p.Version:
			w.recordPlugin([]string{p.Name, "Installed"})
		}
	}
}

// describePlugins adds the condition PluginsInstalled and the plugins to a scenario that has plugins.
func (w *scene) describePlugins(say func(string, ...any)) {
	status := &w.p.Status
	if c := status.GetCondition(v1alpha1.ConditionPluginsInstalled); len(w.seen.Request.Plugins)+len(w.seen.Plugins.Record)+len(w.seen.Plugins.Problem) > 0 {
		say("  PluginsInstalled %s %s: %s", c.Status, c.Reason, c.Message)
	}
	for _, p := range status.Plugins {
		say("  plugin           %s %s %s %s", p.Name, p.Version, p.State, p.Message)
	}
}

func randomPlugins(r *rand.Rand, s *Seen) {
	for _, name := range []string{"multus", "nfd", "qat"}[:r.IntN(4)] {
		skip := pick(r, "", "", "no node has it")
		if r.IntN(3) > 0 {
			s.Request.Plugins = append(s.Request.Plugins, contract.Plugin{Name: name, Version: "v1", Skip: skip, Intent: pick(r, "x", "y") + skip})
		}
		if r.IntN(2) == 0 {
			state := pick(r, contract.PluginInstalled, contract.PluginInstalled, contract.PluginSkipped, contract.PluginFailed, contract.PluginInstalling, contract.PluginRemoving)
			s.Plugins.Record = append(s.Plugins.Record, contract.PluginStatus{Name: name, Version: pick(r, "v0", "v1"), Intent: pick(r, "x", "y"), State: state})
		}
	}
	s.Plugins.Problem = pick(r, "", "", "", "", "", "no such version")
	for i, p := range s.Request.Plugins {
		if s.Plugins.Holds(p.Name) {
			s.Request.Plugins[i].Skip = ""
		}
	}
}

// harmfulPlugins describes why a run must not have these plugins. It is empty if it may.
func harmfulPlugins(s Seen, step Step) string {
	switch {
	case step.Operation == contract.OperationPlugins && !step.Plugins:
		return "a run for plugins does nothing"
	case !step.Plugins && len(step.Request.Plugins) > 0:
		return "the depot must have plugins that the run does not install"
	case step.Plugins && s.Plugins.Problem != "":
		return "plugins are removed or installed although nobody knows which are requested"
	case step.Plugins && !contract.OperationOf(step.Operation).Has(contract.TaskInstallPlugins):
		return "the Pipeline cannot install plugins"
	}
	if _, changes := s.nextChange(); step.Operation == contract.OperationPlugins && changes {
		return "plugins come before a change of the nodes"
	}
	return ""
}

// finishPlugins returns the state after the run of the step has installed its plugins.
func finishPlugins(s Seen, step Step) Seen {
	if !step.Plugins {
		return s
	}
	s.Plugins.Record = nil
	for _, p := range step.Request.Plugins {
		row := contract.PluginStatus{Name: p.Name, Version: p.Version, Intent: p.Intent, State: contract.PluginInstalled}
		if p.Skip != "" {
			row.State, row.Message = contract.PluginSkipped, p.Skip
		}
		s.Plugins.Record = append(s.Plugins.Record, row)
	}
	return s
}

// TestRecordBehindTheRun: the cache can show the end of a run before the record that the run has written.
// No second run starts.
func TestRecordBehindTheRun(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	wanted := []contract.Plugin{{Name: "multus", Version: "v1", Intent: "x"}}
	s := Seen{
		Name: "edge-1", Digest: "one", Inputs: "one", Hosts: &Need{}, SSH: &Need{}, InstalledDigest: "one",
		Request: contract.Request{Spec: contract.Spec{Plugins: wanted}}, Started: contract.Request{Spec: contract.Spec{Plugins: wanted}},
		Kubeconfig: &Kubeconfig{Endpoint: "https://x", Expires: now.Add(time.Hour)},
		Runs: []Run{{Name: "edge-1-plugins-1", Number: 1, Operation: contract.OperationPlugins, Digest: "one", Inputs: "one", State: Succeeded,
			Plugins: contract.PluginsDigest(wanted), Tasks: []Task{{Name: contract.TaskInstallPlugins, State: Succeeded}}}},
	}
	if step := Next(s, now); step.Do != Stay {
		t.Errorf("step %+v", step)
	}
	s.Request.Plugins = []contract.Plugin{{Name: "multus", Version: "v1", Intent: "y"}}
	if step := Next(s, now); step.Do != StartRun || step.Operation != contract.OperationPlugins {
		t.Errorf("after an edit: step %+v", step)
	}
}

// A restore brings back plugins that were removed after the backup, so its run removes them. A cluster that
// never had a plugin has no task for them.
func TestARestoreRemovesPlugins(t *testing.T) {
	for operation, want := range map[string]bool{contract.OperationRestore: true, contract.OperationAddNodes: false, contract.OperationPlugins: false} {
		s := Seen{Plugins: Plugins{Record: []contract.PluginStatus{}}}
		if got := s.installsPlugins(operation); got != want {
			t.Errorf("%s after all plugins were removed: %t", operation, got)
		}
		s.Plugins.Record = nil
		if s.installsPlugins(operation) {
			t.Errorf("%s without plugins has a task for them", operation)
		}
		s.Plugins = Plugins{Record: []contract.PluginStatus{}, Problem: "no such version"}
		if s.installsPlugins(operation) {
			t.Errorf("%s removes plugins although nobody knows which are requested", operation)
		}
	}
}

// TestPluginsOfADeletedRun: the plugins of a run that failed are not installed because somebody deletes this run.
func TestPluginsOfADeletedRun(t *testing.T) {
	w := installedScene(t, "plugins multus")
	w.tell(t, "plugins multus nfd", "starts", "plugin nfd Failed no_image", "task install-plugins fails PluginFailed|||nfd: no image", "run fails Failed")
	if w.p.Status.IsReady() {
		t.Fatalf("a cluster whose plugin has failed: %s", w.describe())
	}
	w.seen.Runs = w.seen.Runs[:len(w.seen.Runs)-1]
	w.describe()
	if w.last.Do != StartRun || w.last.Operation != contract.OperationPlugins {
		t.Errorf("no run repairs nfd: %s", w.describe())
	}
}
