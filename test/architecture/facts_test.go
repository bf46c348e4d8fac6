package architecture

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/upgrade"
)

// TestFactsWithTwoHomes checks that constants which are written in several packages, because none of them imports the
// other, have the same value.
func TestFactsWithTwoHomes(t *testing.T) {
	const types = "pkg/apis/bpa/v1alpha1/"
	type home struct{ path, name string }
	facts := [][]home{
		{{"pkg/settings/settings.go", "Namespace"}, {"pkg/runs/runs.go", "Namespace"}, {"bootstrap/internal/cluster/project.go", "projectNamespace"}},
		{{"pkg/settings/settings.go", "Name"}, {"bootstrap/internal/cluster/project.go", "settingsName"}},
		{{"pkg/depot/auth/access.go", "Group"}, {"pkg/runs/runs.go", "depotGroup"}},
		{{"pkg/reconciler/packages/watcher.go", "tokenFile"}, {"pkg/reconciler/backup/controller.go", "tokenFile"}},
		{{types + "provisioning_defaults.go", "DefaultKubernetesVersion"}, {"test/lab/artifacts/builder.go", "kubeVersion"}},
		{{types + "provisioning_defaults.go", "DefaultKubesprayRelease"}, {"pkg/contract/settings.go", "DefaultRelease"}},
	}
	for _, name := range []string{"PluginInstalling", "PluginInstalled", "PluginSkipped", "PluginFailed", "PluginRemoving"} {
		facts = append(facts, []home{{types + "status_types.go", name}, {"pkg/contract/plugin.go", name}})
	}
	for _, name := range []string{"NodeReady", "NodeNotReady", "NodeUnknown"} {
		facts = append(facts, []home{{types + "status_types.go", name}, {"pkg/health/observation.go", name}})
	}
	for _, name := range []string{"RoleControlPlane", "RoleWorker"} {
		facts = append(facts, []home{{types + "nodes_types.go", name}, {"pkg/contract/names.go", name}})
	}
	for _, name := range []string{"ControlPlanes", "Workers", "Fitting"} {
		facts = append(facts, []home{{"pkg/plugin/definition.go", name}, {"pkg/inventory/plugins.go", "members" + name}})
	}
	for _, homes := range facts {
		first := constant(t, homes[0].path, homes[0].name)
		for _, h := range homes[1:] {
			if got := constant(t, h.path, h.name); got != first {
				t.Errorf("%s of %s is %q, but %s of %s is %q", homes[0].name, homes[0].path, first, h.name, h.path, got)
			}
		}
	}
}

// TestDefaultVersionIsKnown: an installed cluster can get the version that the API gives to a new one.
func TestDefaultVersionIsKnown(t *testing.T) {
	const is = v1alpha1.DefaultKubernetesVersion
	first := is[:strings.LastIndex(is, ".")] + ".0"
	if _, problem := (upgrade.Rules{}).Path(first, is); problem != nil {
		t.Error(problem)
	}
}

// TestKubeOfTheLab: the lab's module kube starts its components as that of the bootstrap machine, which has some more.
func TestKubeOfTheLab(t *testing.T) {
	commands := func(path string) map[string]string {
		text, err := os.ReadFile(filepath.Join(root, path, "main.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]string{}
		for _, m := range regexp.MustCompile(`(?s)\tcase "([a-z-]+)":\n(.*?)\n\t(?:case|default)`).FindAllSubmatch(bytes.ReplaceAll(text, []byte("\tcase"), []byte("\tcase\n\tcase")), -1) {
			found[string(m[1])] = string(m[2])
		}
		return found
	}
	machine, lab := commands("bootstrap/modules/kube"), commands("test/lab/modules/kube")
	if len(lab) < 6 {
		t.Fatalf("the lab has the components %v", lab)
	}
	for name, start := range lab {
		if machine[name] != start {
			t.Errorf("%s: the lab has %q, the machine %q", name, start, machine[name])
		}
	}
}

// constant returns the value of a string constant.
func constant(t *testing.T, path, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^(?:const|\t)\s*` + name + `\s+(?:\w+\s*)?= "([^"]+)"`).FindSubmatch(text)
	if m == nil {
		t.Fatalf("%s has no constant %s", path, name)
	}
	return string(m[1])
}
