//go:build integration

package integration

import (
	"strings"
	"testing"
)

const foreign = "foreign" // namespace of this file's Provisionings

// resultsFinalizer is a finalizer as Tekton Results sets it on runs.
const resultsFinalizer = "results.tekton.dev/pipelinerun"

// TestForeignActors starts the real controller beside other programs that work on PipelineRuns. The test makes their
// writes: Kueue holds a new run back with PipelineRunPending, Tekton Results adds annotations and a finalizer, and a pruner
// of the site deletes runs that have ended. There is no Tekton, so the test ends the runs.
func TestForeignActors(t *testing.T) {
	prepareSiteOf(t, foreign)
	c := startController(t)
	in := func(args ...string) string {
		t.Helper()
		return must(t, "", append([]string{"-n", foreign}, args...)...)
	}
	await := func(object string, state string) {
		t.Helper()
		var out string
		var err error
		for range 4 { // a call of kubectl has a limit; a busy machine needs longer until the controller leads
			if out, err = kubectl(t, "", "wait", "-n", foreign, object, "--timeout=25s", state); err == nil {
				return
			}
		}
		t.Fatalf("%s %s: %v\n%s\n%s\ncontroller:\n%s", object, state, err, out, in("get", "bpa,pipelineruns", "-o", "yaml"), c.output(t))
	}
	// reconciled waits until the controller has seen all that was written before: its answer is a field of the status.
	reconciled := func(spec string) {
		t.Helper()
		must(t, manifest("edge-1", spec), "apply", "-n", foreign, "-f", "-")
		await("bpa/edge-1", "--for=jsonpath={.status.observedGeneration}="+in("get", "bpa", "edge-1", "-o", "jsonpath={.metadata.generation}"))
	}
	end := func(run, reason string) {
		t.Helper()
		in("patch", "pipelinerun", run, "--subresource=status", "--type=merge", "-p",
			`{"status":{"completionTime":"2026-11-28T08:00:00Z","conditions":[{"type":"Succeeded","status":"False","reason":"`+reason+`","message":"by the test"}]}}`)
	}
	annotate := func(run string) {
		t.Helper()
		in("patch", "pipelinerun", run, "--type=merge", "-p", `{"metadata":{"annotations":{"results.tekton.dev/record":"site/results/1/records/1",
			"results.tekton.dev/stored":"true"},"labels":{"kueue.x-k8s.io/queue-name":"site"},"finalizers":["`+resultsFinalizer+`"]}}`)
	}

	// A run that Kueue holds back stays as it is, however long, also while the Provisioning is edited.
	reconciled(one + "priority: 1\n")
	await("pipelinerun/edge-1-install-1", "--for=create")
	in("patch", "pipelinerun", "edge-1-install-1", "--type=merge", "-p", `{"spec":{"status":"PipelineRunPending"}}`)
	in("patch", "pipelinerun", "edge-1-install-1", "--subresource=status", "--type=merge", "-p",
		`{"status":{"conditions":[{"type":"Succeeded","status":"Unknown","reason":"PipelineRunPending","message":"the run is pending"}]}}`)
	annotate("edge-1-install-1")
	reconciled(one + "priority: 2\n")
	await("bpa/edge-1", `--for=jsonpath={.status.conditions[?(@.type=="Ready")].reason}=Running`)
	const state = `jsonpath={.items[*].metadata.name} {.items[*].spec.status} {.items[*].metadata.finalizers[0]} {.items[*].metadata.annotations.results\.tekton\.dev/stored} {.items[*].metadata.labels.kueue\.x-k8s\.io/queue-name}`
	if got, want := in("get", "pipelineruns", "-o", state), "edge-1-install-1 PipelineRunPending "+resultsFinalizer+" true site"; got != want {
		t.Errorf("the run that is held back: %q, want %q", got, want)
	}

	// Kueue lets it start, and it is stopped by hand. Each request for another attempt starts one, also while finalizers hold
	// runs that the controller has deleted: it keeps two runs here.
	must(t, "", "patch", "-n", "bpa-system", "configmap", "config-bpa", "--type=merge", "-p", `{"data":{"run-history":"2"}}`)
	in("patch", "pipelinerun", "edge-1-install-1", "--type=merge", "-p", `{"spec":{"status":null}}`)
	for n, run := range []string{"edge-1-install-1", "edge-1-install-2", "edge-1-install-3", "edge-1-install-4"} {
		await("pipelinerun/"+run, "--for=create")
		if n > 0 {
			annotate(run)
		}
		end(run, "Cancelled")
		await("bpa/edge-1", `--for=jsonpath={.status.conditions[?(@.type=="Ready")].reason}=RunCancelled`)
		in("annotate", "bpa", "edge-1", "--overwrite", "bpa.akraino.org/retry=2026-11-28T08:00:0"+string(rune('0'+n))+"Z")
	}
	await("pipelinerun/edge-1-install-5", "--for=create")
	await("pipelinerun/edge-1-install-1", "--for=jsonpath={.metadata.deletionTimestamp}")
	in("patch", "pipelinerun", "edge-1-install-1", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	await("pipelinerun/edge-1-install-1", "--for=delete")

	// The site's pruner deletes the runs that have ended. The one that is active goes on, and nothing else starts.
	for _, run := range []string{"edge-1-install-2", "edge-1-install-3", "edge-1-install-4"} {
		in("patch", "pipelinerun", run, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
		in("delete", "pipelinerun", run, "--ignore-not-found")
	}
	reconciled(one + "priority: 3\n")
	if got := in("get", "pipelineruns", "-o", "jsonpath={.items[*].metadata.name} {.items[*].spec.status}"); got != "edge-1-install-5 " {
		t.Errorf("after the pruner: runs %q, want only edge-1-install-5", got)
	}

	// The deletion of the Provisioning does not wait for the finalizer of a run that has ended.
	annotate("edge-1-install-5")
	in("delete", "bpa", "edge-1", "--wait=false")
	await("pipelinerun/edge-1-install-5", "--for=jsonpath={.spec.status}=Cancelled")
	end("edge-1-install-5", "Cancelled")
	await("bpa/edge-1", "--for=delete")
	in("patch", "pipelinerun", "edge-1-install-5", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	if log := c.output(t); strings.Contains(log, "forbidden") {
		t.Errorf("config/200-controller.yaml lacks a permission:\n%s", log)
	}
}
