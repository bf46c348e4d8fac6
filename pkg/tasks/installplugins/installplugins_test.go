package installplugins

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

func compare(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Plugins are installed in the order of their needs, whatever the order of the request is, and a second run
// applies all of them again.
func TestRun(t *testing.T) {
	w := newFixture(t).wants("top", "lonely", "base", "upper")
	for n := range 2 {
		out, err := w.run(t.Context())
		if err != nil || out.Summary != "4 installed" {
			t.Fatalf("run %d: %+v, %v", n, out, err)
		}
		compare(t, "calls", []string{"apply base", "ready base", "test base", "apply upper", "ready upper", "apply top", "ready top", "apply lonely", "ready lonely"}, w.cluster.done)
	}
	compare(t, "record", []string{"base Installed", "upper Installed", "top Installed", "lonely Installed"}, w.states())
	base, upper := w.rows()[0], w.rows()[1]
	if base.Test != (contract.PluginTest{State: contract.TestPassed, Message: "ok"}) || upper.Test.State != contract.TestNone {
		t.Errorf("tests %+v, %+v", base.Test, upper.Test)
	}
	digest, _ := w.catalog["base"].Applied(json.RawMessage("{}"))
	if base.Intent != "i-base" || base.Digest != digest || base.Version != "v1" {
		t.Errorf("row %+v", base)
	}
	if w.left != 2 {
		t.Errorf("the access ended %d times, want 2", w.left)
	}
	var progress contract.Progress
	if err := json.Unmarshal([]byte(w.other.data[contract.KeyProgress]), &progress); err != nil || progress != (contract.Progress{Run: w.in.Run, Task: contract.TaskInstallPlugins, Percent: 100, Step: "4 installed"}) {
		t.Errorf("progress %+v, %v", progress, err)
	}
}

// A failed plugin takes those with it that need it. The others are installed.
func TestOneFails(t *testing.T) {
	for name, tc := range map[string]struct {
		fail func(w *fixture)
		want string
	}{
		"apply":             {func(w *fixture) { w.cluster.fails["apply base"] = errors.New("no such kind") }, "base Failed: no such kind"},
		"not ready":         {func(w *fixture) { w.cluster.fails["ready base"] = errors.New("1 of 2 pods") }, "base Failed: 1 of 2 pods"},
		"its test's start":  {func(w *fixture) { w.cluster.fails["test base"] = errors.New("refused") }, "base Failed: its test could not run: refused"},
		"not in the depot":  {func(w *fixture) { w.in.Request.Plugins[0].Source = "plugins/base:v1" }, "base Failed: connection refused"},
		"wrong parameters":  {func(w *fixture) { w.in.Request.Plugins[0].Parameters = json.RawMessage(`{"x":1}`) }, "base Failed: parameter x of plugin base: plugin base has no parameters; remove the parameters"},
		"a need is missing": {func(w *fixture) { w.in.Request.Plugins = slices.Delete(w.in.Request.Plugins, 0, 1) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t).wants("base", "upper", "top", "lonely")
			tc.fail(w)
			_, err := w.run(t.Context())
			f := task.FailureOf(err)
			if f.Reason != contract.ReasonPluginFailed || !f.Reason.Transient() || !strings.Contains(f.Message, "upper") || !strings.Contains(f.Message, "top") {
				t.Errorf("failure %+v", f)
			}
			want := []string{tc.want, "upper Failed: it needs base, which is not installed", "top Failed: it needs upper, which is not installed", "lonely Installed"}
			if tc.want == "" {
				want = []string{"upper Failed: it needs plugin base: add it to spec.KUDPlugins", "top Failed: it needs upper, which is not installed", "lonely Installed"}
			}
			got := w.states()
			slices.Sort(got)
			slices.Sort(want)
			compare(t, "record", want, got)
		})
	}
}

// A plugin whose test has failed is there, so the plugins that need it are installed. The run fails all the
// same.
func TestNeedFailsItsTest(t *testing.T) {
	w := newFixture(t).wants("base", "upper", "top")
	w.cluster.tests["base"] = contract.PluginTest{State: contract.TestFailed, Message: "no ping"}
	_, err := w.run(t.Context())
	if f := task.FailureOf(err); f.Reason != contract.ReasonPluginFailed || !strings.Contains(f.Message, "plugin base: its test failed: no ping") {
		t.Errorf("failure %+v", f)
	}
	compare(t, "record", []string{"base Failed: its test failed: no ping", "upper Installed", "top Installed"}, w.states())
	if !strings.Contains(w.log.String(), "it needs base, which is ready although its test failed") {
		t.Errorf("log: %s", w.log.String())
	}
}

// A skipped plugin has nothing in the cluster, also if it was installed before, and neither has a plugin that
// needs it.
func TestSkip(t *testing.T) {
	w := newFixture(t).wants("base", "upper", "lonely")
	if _, err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.in.Request.Plugins[0].Skip = "no node has SR-IOV"
	out, err := w.run(t.Context())
	if err != nil || out.Summary != "1 installed, 2 skipped" {
		t.Errorf("%+v, %v", out, err)
	}
	compare(t, "record", []string{"base Skipped: no node has SR-IOV", "upper Skipped: it needs base, which is skipped: no node has SR-IOV", "lonely Installed"}, w.states())
	compare(t, "calls", []string{"remove base", "remove upper", "apply lonely", "ready lonely"}, w.cluster.done)
	if row := w.rows()[0]; row.Test.State != contract.TestSkipped {
		t.Errorf("the test of a skipped plugin: %+v", row.Test)
	}
	if _, err := w.run(t.Context()); err != nil || len(w.cluster.done) != 2 {
		t.Errorf("a plugin that is not there is removed again: %v, %v", w.cluster.done, err)
	}
}

// A retired plugin is skipped, and the others are installed.
func TestSkipRetired(t *testing.T) {
	w := newFixture(t).wants("lonely")
	w.in.Request.Plugins = append([]contract.Plugin{{Name: "olden", Skip: "it is retired: old; use lonely instead", Intent: "i-olden"}}, w.in.Request.Plugins...)
	out, err := w.run(t.Context())
	if err != nil || out.Summary != "1 installed, 1 skipped" {
		t.Errorf("%+v, %v", out, err)
	}
	compare(t, "record", []string{"olden Skipped: it is retired: old; use lonely instead", "lonely Installed"}, w.states())
	compare(t, "calls", []string{"apply lonely", "ready lonely"}, w.cluster.done)
	if row := w.rows()[0]; row.Version != "" || row.Digest != "" || row.Intent != "i-olden" {
		t.Errorf("row %+v", row)
	}
}

// A plugin whose hosts are not in the inventory is skipped, unless the cluster has it already.
func TestNoNodeFits(t *testing.T) {
	w := newFixture(t).wants("base", "upper")
	for hosts, want := range map[string]string{
		"host-9": "base Skipped: no node of the cluster meets its requirements",
		"host-2": "base Installed",
	} {
		w.in.Request.Plugins[0].Hosts = []string{hosts}
		if _, err := w.run(t.Context()); err != nil || w.states()[0] != want {
			t.Errorf("%s: %v, %v", hosts, w.states(), err)
		}
		w.record, w.cluster.has = memory{}, map[string]int{}
	}
	w.in.Request.Plugins[0].Hosts = []string{"host-2"}
	for range 2 {
		if _, err := w.run(t.Context()); err != nil || w.states()[0] != "base Installed" {
			t.Errorf("installed before: %v, %v", w.states(), err)
		}
		w.in.Request.Plugins[0].Hosts = []string{"host-9"}
	}
}

// Plugins that are not requested are removed before those that they need, also if only the cluster knows them.
func TestRemove(t *testing.T) {
	w := newFixture(t).wants("base", "upper", "top", "nodes")
	if _, err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.cluster.has["forgotten"] = 1
	w.plays, w.extra = nil, nil
	w.wants("lonely")
	out, err := w.run(t.Context())
	if err != nil || out.Summary != "1 installed, 5 removed" {
		t.Errorf("%+v, %v", out, err)
	}
	compare(t, "calls", []string{"remove top", "remove upper", "remove nodes", "remove forgotten", "remove base", "apply lonely", "ready lonely"}, w.cluster.done)
	compare(t, "record", []string{"lonely Installed"}, w.states())
	if len(w.plays) != 1 || w.plays[0].Args[len(w.plays[0].Args)-1] != "remove.yml" || !strings.Contains(w.extra[0], `"mode":"slow"`) {
		t.Errorf("playbooks %v with %v", w.plays, w.extra)
	}
	if got := w.record.data[keyApplied]; strings.Contains(got, "nodes") || !strings.Contains(got, "lonely") {
		t.Errorf("remembered: %s", got)
	}
}

// A plugin that cannot be removed stays in the record, and the others go on.
func TestRemoveFails(t *testing.T) {
	w := newFixture(t).wants("base", "lonely")
	if _, err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.cluster.fails["remove base"] = errors.New("it has the finalizers x")
	w.wants("upper")
	w.in.Request.Plugins = nil
	_, err := w.run(t.Context())
	if reasonOf(err) != contract.ReasonPluginFailed {
		t.Errorf("error %v", err)
	}
	compare(t, "record", []string{"base Failed: it could not be removed: it has the finalizers x"}, w.states())
	w.cluster.fails = nil
	if out, err := w.run(t.Context()); err != nil || out.Summary != "1 removed" || len(w.rows()) != 0 {
		t.Errorf("the next run: %+v, %v, %v", out, err, w.states())
	}
}

// A task that is cancelled shows what it was doing. Its access ends.
func TestCancelled(t *testing.T) {
	w := newFixture(t).wants("lonely", "base")
	ctx, cancel := context.WithCancel(t.Context())
	w.cluster.onApply = func(name string) {
		if name == "base" {
			cancel()
		}
	}
	w.cluster.fails["apply base"] = context.Canceled
	if _, err := w.run(ctx); err == nil || !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	compare(t, "record", []string{"lonely Installed", "base Installing"}, w.states())
	if w.left != 1 {
		t.Error("the access did not end")
	}
	w.cluster.fails, w.cluster.onApply = nil, nil
	w.wants("lonely")
	if _, err := w.run(t.Context()); err != nil || w.cluster.done[0] != "remove base" {
		t.Errorf("what the killed task has left is not removed: %v, %v", w.cluster.done, err)
	}
}

// The record is written before and after each plugin, and its times are those of the last change of the state.
func TestRecord(t *testing.T) {
	w := newFixture(t).wants("base", "lonely")
	if _, err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var seen []string
	for _, text := range w.record.writes {
		var rows []contract.PluginStatus
		if err := json.Unmarshal([]byte(text), &rows); err != nil {
			t.Fatal(err)
		}
		line := ""
		for _, row := range rows {
			line += fmt.Sprintf("%s %s. ", row.Name, row.State)
		}
		seen = append(seen, line)
	}
	compare(t, "writes", []string{"base Installing. ", "base Installed. ", "base Installed. lonely Installing. ", "base Installed. lonely Installed. "}, seen)
	w.cluster.fails["ready lonely"] = errors.New("x")
	first := w.rows()[1].Since
	for range 2 {
		_, _ = w.run(t.Context())
	}
	if got := w.rows()[1].Since; !got.After(first) || got.Sub(w.now) > time.Minute {
		t.Errorf("since %s", got)
	}
}

// A controller of another build has other plugins: nothing is changed, and the next attempt may succeed.
func TestSkew(t *testing.T) {
	for name, spoil := range map[string]func(p *contract.Plugin){
		"version": func(p *contract.Plugin) { p.Version = "v2" },
		"digest":  func(p *contract.Plugin) { p.Digest = "sha256:0" },
		"name":    func(p *contract.Plugin) { p.Name = "new" },
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t).wants("base", "lonely")
			spoil(&w.in.Request.Plugins[1])
			if _, err := w.run(t.Context()); reasonOf(err) != contract.ReasonVersionSkew || len(w.cluster.done) != 0 || len(w.rows()) != 0 {
				t.Errorf("%v, %v, %v", err, w.cluster.done, w.states())
			}
		})
	}
}

// The message of the failure names all plugins that have failed, and is not cut.
func TestFailureFits(t *testing.T) {
	var rows []contract.PluginStatus
	for n := range 12 {
		rows = append(rows, contract.PluginStatus{Name: fmt.Sprintf("plugin-%d", n), State: contract.PluginFailed, Message: strings.Repeat("why ", 100)})
	}
	for _, some := range [][]contract.PluginStatus{rows[:1], rows[:3], rows} {
		err := failure(slices.Concat(some, []contract.PluginStatus{{Name: "good", State: contract.PluginInstalled}}))
		f := task.FailureOf(err)
		var e *task.Error
		if !errors.As(err, &e) || f.Message != e.Err.Error() {
			t.Errorf("the message is cut: %q of %v", f.Message, err)
		}
		for _, row := range some {
			if !strings.Contains(f.Message, row.Name) {
				t.Errorf("%s is not in %q", row.Name, f.Message)
			}
		}
	}
	if err := failure([]contract.PluginStatus{{Name: "a", State: contract.PluginSkipped}}); err != nil {
		t.Errorf("a skipped plugin is a failure: %v", err)
	}
}

// A restored cluster has a plugin that was removed after the backup, and the record does not: the shipped
// remove.yml runs with the defaults of its parameters.
func TestRemoveWhatARestoreHasBroughtBack(t *testing.T) {
	w := newFixture(t)
	w.cluster.has["nodes"] = 1
	if out, err := w.run(t.Context()); err != nil || out.Summary != "1 removed" {
		t.Errorf("%+v, %v", out, err)
	}
	compare(t, "calls", []string{"remove nodes"}, w.cluster.done)
	if len(w.plays) != 1 || w.plays[0].Args[len(w.plays[0].Args)-1] != "remove.yml" || !strings.Contains(w.extra[0], `"mode":"slow"`) {
		t.Errorf("playbooks %v with %v", w.plays, w.extra)
	}
}
