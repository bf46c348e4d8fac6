//go:build integration

package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/contract/from"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
	"github.com/akraino-icn/bpa/pkg/settings"
)

// TestEditIsReverted runs the command in the condition SpecChanged with the real kubectl, API
// server and webhook. It checks that the command restores added, changed and removed fields.
func TestEditIsReverted(t *testing.T) {
	must(t, manifest("edited", one+"PodSubnet: 10.1.0.0/16\nssh: {user: admin}"), "apply", "-f", "-")
	before := get(t, "edited")
	request, err := from.Provisioning(before, settings.Depot{})
	if err != nil {
		t.Fatal(err)
	}
	stored, err := resources.MakeRequestConfigMap(before, request, "sha256:1")
	if err != nil {
		t.Fatal(err)
	}
	stored.APIVersion, stored.Kind = "v1", "ConfigMap"
	text, err := yaml.Marshal(stored)
	if err != nil {
		t.Fatal(err)
	}
	must(t, string(text), "apply", "-f", "-")
	must(t, "", "patch", "provisioning", "edited", "--type=merge", "-p",
		`{"spec":{"PodSubnet":"10.2.0.0/16","workers":[{"worker-1":{"cpu":4}}],"ssh":{"user":null},"kubespray":{"vars":{"a":1}}}}`)
	if diff := cmp.Diff(before.Spec, get(t, "edited").Spec); diff == "" {
		t.Fatal("the patch did not change the spec")
	}

	command := exec.CommandContext(t.Context(), "sh", "-c", `kubectl patch provisioning -n site edited --type=json -p "$(kubectl get configmap -n site edited-request -o jsonpath='{.data.revert\.json}')"`)
	command.Env = append(os.Environ(), "KUBECONFIG="+shared.kubeconfig, "PATH="+filepath.Dir(shared.kubectl)+":"+os.Getenv("PATH"))
	if out, err := command.CombinedOutput(); err != nil || !strings.Contains(string(out), "patched") {
		t.Fatalf("%v: %s", err, out)
	}
	if diff := cmp.Diff(before.Spec, get(t, "edited").Spec); diff != "" {
		t.Errorf("spec after the command (-want +got):\n%s", diff)
	}
}
