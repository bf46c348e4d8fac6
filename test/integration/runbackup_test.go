//go:build integration

package integration

import (
	"path/filepath"
	"strings"
	"testing"
)

const backing = "backing" // namespace of this file's objects

// TestBackupsOfTheController starts the real controller with the rights of its account. There is no
// Tekton, so the test ends the runs. The copy of a Backup cannot be deleted while the depot does not
// answer, and the Backup stays until then. The file sorts after the test that removes the CRDs of
// Tekton, because their removal takes long if they have objects.
func TestBackupsOfTheController(t *testing.T) {
	tekton := filepath.Join(moduleDir(t, "github.com/tektoncd/pipeline"), "config", "300-crds")
	for _, file := range []string{metal3Kinds, tekton} {
		must(t, "", "apply", "--server-side", "-f", file)
	}
	must(t, "", "wait", "--for=condition=Established", "--timeout=30s", "crd/baremetalhosts.metal3.io", "crd/pipelineruns.tekton.dev")
	must(t, "", "create", "namespace", backing)
	c := startController(t)
	setDepot := func(url string) {
		must(t, "", "patch", "-n", "bpa-system", "configmap", "config-bpa", "--type=merge", "-p", `{"data":{"depot-url":"`+url+`"}}`)
	}
	setDepot("https://127.0.0.1:1")
	await := func(args ...string) {
		t.Helper()
		if out, err := kubectl(t, "", append([]string{"wait", "-n", backing, "--timeout=25s"}, args...)...); err != nil {
			all, _ := kubectl(t, "", "get", "-n", backing, "backups,pipelineruns", "-o", "yaml")
			t.Fatalf("%v: %v\n%s\n%s\ncontroller:\n%s", args, err, out, all, c.output(t))
		}
	}
	const succeeded = `--for=jsonpath={.status.conditions[?(@.type=="Succeeded")].reason}=`

	must(t, backupOf("first", "edge-1"), "apply", "-n", backing, "-f", "-")
	await("backup/first", succeeded+"Waiting")
	must(t, manifest("edge-1", one+"paused: true\nbackup: {schedule: '@monthly'}"), "apply", "-n", backing, "-f", "-")
	must(t, "", "patch", "-n", backing, "bpa/edge-1", "--subresource=status", "--type=merge", "-p", `{"status":{"installedDigest":"v3:sha256:1"}}`)
	await("pipelinerun/first-backup", "--for=create")
	await("backup/first", succeeded+"Running")

	// A time of the schedule was missed. The scheduled Backup waits for the other one. The controller writes its own mark first, which
	// must not come after the one of this test.
	await("bpa/edge-1", `--for=jsonpath={.metadata.annotations.bpa\.akraino\.org/backup-scheduled}`)
	must(t, "", "annotate", "-n", backing, "bpa/edge-1", "--overwrite", "bpa.akraino.org/backup-scheduled=2026-01-15T00:00:00Z")
	scheduled := awaitScheduled(t, c)
	await(scheduled, succeeded+"Waiting")
	endBackup(t, "first")
	await("backup/first", succeeded+"Stored")
	if got := must(t, "", "get", "-n", backing, "backup", "first", "-o", "jsonpath={.status.size} {.status.revision} {.status.member} {.status.artifact}"); !strings.HasPrefix(got, "4096 42 m-1 binary_images/backing/edge-1/backup-first-") {
		t.Errorf("status %q", got)
	}
	await("pipelinerun/"+strings.TrimPrefix(scheduled, "backup/")+"-backup", "--for=create")

	must(t, "", "delete", "-n", backing, "backup", "first", "--wait=false")
	if out, err := kubectl(t, "", "wait", "-n", backing, "backup/first", "--for=delete", "--timeout=3s"); err == nil {
		t.Errorf("the Backup is gone although the depot does not answer: %s", out)
	}
	must(t, "", "annotate", "-n", backing, "backup/first", "bpa.akraino.org/keep-copy=true") // the depot is gone for ever
	await("backup/first", "--for=delete")

	must(t, "", "delete", "-n", backing, "bpa/edge-1", "--wait=false")
	await("bpa/edge-1", "--for=delete")
	if left := must(t, "", "get", "-n", backing, "secret/edge-1-backup-key", scheduled, "-o", "name"); len(strings.Fields(left)) != 2 {
		t.Errorf("after the Provisioning was deleted, only %q are left", left)
	}
	if log := c.output(t); strings.Contains(log, "forbidden") {
		t.Errorf("config/200-controller.yaml lacks a permission:\n%s", log)
	}
}

// awaitScheduled waits until the schedule has created a Backup, and returns "backup/NAME".
func awaitScheduled(t *testing.T, c *controller) string {
	t.Helper()
	const of = "--selector=bpa.akraino.org/backup-of"
	if out, err := kubectl(t, "", "wait", "-n", backing, "backup", of, "--for=create", "--timeout=25s"); err != nil {
		t.Fatalf("no scheduled Backup: %v\n%s\n%s", err, out, c.output(t))
	}
	name := strings.TrimSpace(must(t, "", "get", "-n", backing, "backup", of, "-o", "jsonpath={.items[*].metadata.name}"))
	if !strings.HasPrefix(name, "edge-1-2026") || !strings.HasSuffix(name, "01000000") {
		t.Errorf("the scheduled Backups are %q, want one for the first day of a month", name)
	}
	return "backup/" + name
}

// endBackup ends the run of a Backup, as Tekton does.
func endBackup(t *testing.T, name string) {
	t.Helper()
	must(t, `apiVersion: tekton.dev/v1
kind: TaskRun
metadata: {name: `+name+`-task, labels: {bpa.akraino.org/backup: `+name+`, tekton.dev/pipelineTask: backup}}
spec: {taskRef: {name: backup}}
`, "apply", "-n", backing, "-f", "-")
	const done = `"conditions":[{"type":"Succeeded","status":"True","reason":"Succeeded"}]`
	must(t, "", "patch", "-n", backing, "taskrun/"+name+"-task", "--subresource=status", "--type=merge", "-p", `{"status":{"podName":"p",`+done+`,"results":[
		{"name":"sha256","type":"string","value":"abc"},{"name":"size","type":"string","value":"4096"},{"name":"revision","type":"string","value":"42"},
		{"name":"member","type":"string","value":"m-1"},{"name":"version","type":"string","value":"1.35.4"}]}}`)
	must(t, "", "patch", "-n", backing, "pipelinerun/"+name+"-backup", "--subresource=status", "--type=merge", "-p",
		`{"status":{`+done+`,"childReferences":[{"name":"`+name+`-task","kind":"TaskRun","pipelineTaskName":"backup"}]}}`)
}
