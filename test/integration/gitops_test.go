//go:build integration

package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// gitOpsWays are the namespaces of hack/gitops, one for each way in which Argo CD and Flux apply and compare.
var gitOpsWays = []string{"argocd", "argocd-server-side-apply", "argocd-server-side-diff", "flux"}

// bareNode is the sample with a node that is written as "- master-1:", which YAML reads as null. The API server stores no
// null, so two of Argo CD's ways find a difference for ever.
const bareNode = "../../config/samples/icn-master-is-worker-bare.yaml"

// TestGitOps applies every sample twice with the libraries of Argo CD and Flux, and each time their comparison finds nothing.
// It also finds nothing after other programs have written to the objects what the controller and `kubectl bpa` write. It
// finds an edit of a file, so that it is not blind. The only sample that differs is bareNode.
func TestGitOps(t *testing.T) {
	program := filepath.Join(shared.dir, "gitops")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = "../../hack/gitops"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build hack/gitops: %v\n%s", err, out)
	}
	files, err := filepath.Glob("../../config/samples/*.yaml")
	if err != nil || len(files) < 19 {
		t.Fatalf("samples: %v, %v", files, err)
	}
	files = slices.DeleteFunc(files, func(file string) bool { return file == bareNode })
	gitops := func(args ...string) (string, error) {
		command := exec.CommandContext(t.Context(), program, args...)
		command.Env = append(os.Environ(), "KUBECONFIG="+shared.kubeconfig)
		out, err := command.CombinedOutput()
		return string(out), err
	}
	for _, way := range gitOpsWays {
		must(t, "", "create", "namespace", way)
	}
	for _, attempt := range []string{"first", "second"} {
		if out, err := gitops(append([]string{"sync"}, files...)...); err != nil {
			t.Fatalf("%s sync: %v\n%s", attempt, err, out)
		}
	}
	for _, way := range gitOpsWays {
		generations := must(t, "", "get", "provisionings,softwares,backups", "-n", way, "-o", `jsonpath={range .items[*]}{.kind}/{.metadata.name}={.metadata.generation}{"\n"}{end}`)
		if got := strings.Count(generations, "=1\n"); got != len(files) || got != strings.Count(generations, "\n") {
			t.Errorf("%s: %d of %d objects have generation 1:\n%s", way, got, len(files), generations)
		}
		must(t, "", "patch", "provisioning", "edge-1", "-n", way, "--type=merge", "-p", `{"metadata":{"finalizers":["bpa.akraino.org/provisioning"]}}`)
		must(t, "", "patch", "provisioning", "edge-1", "-n", way, "--subresource=status", "--type=merge", "-p", `{"status":{"nodesReady":"2/3"}}`)
		must(t, "", "annotate", "provisioning", "edge-1", "-n", way, "bpa.akraino.org/retry=2026-11-28T08:00:00Z")
	}
	if out, err := gitops(append([]string{"diff"}, files...)...); err != nil {
		t.Errorf("after writes of other programs: %v\n%s", err, out)
	}

	differs := []string{}
	out, err := gitops("sync", bareNode)
	for line := range strings.Lines(out) {
		if way, _, found := strings.Cut(line, ": Provisioning icn-master-is-worker-bare: OutOfSync"); found {
			differs = append(differs, way)
		}
	}
	if want := []string{"argocd", "argocd-server-side-apply"}; err == nil || !slices.Equal(differs, want) {
		t.Errorf("%s differs for %v, want %v: %v\n%s", bareNode, differs, want, err, out)
	}

	raw, err := os.ReadFile("../../config/samples/provisioning.yaml")
	if err != nil {
		t.Fatal(err)
	}
	edited := filepath.Join(t.TempDir(), "edited.yaml")
	if err := os.WriteFile(edited, []byte(strings.Replace(string(raw), "\nspec:\n", "\nspec:\n  paused: true\n", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err = gitops("diff", edited)
	for _, way := range gitOpsWays {
		if err == nil || !strings.Contains(out, way+": Provisioning edge-1: ") {
			t.Errorf("%s does not find the edit of a file: %v\n%s", way, err, out)
		}
		// A finalizer without its controller would hold the namespace.
		must(t, "", "patch", "provisioning", "edge-1", "-n", way, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	}
}
