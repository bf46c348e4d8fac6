package docs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// installPage is the page, and the commands of its blocks, one per item.
func installPage(t *testing.T) (page string, commands []string) {
	t.Helper()
	raw, err := os.ReadFile("../../docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fences(t, "../../docs/install.md") {
		for line := range strings.Lines(f.text) {
			commands = append(commands, strings.TrimSpace(line))
		}
	}
	if len(commands) < 20 {
		t.Fatalf("%d commands, want at least 20", len(commands))
	}
	return string(raw), commands
}

// TestInstallVersions compares the versions of the page with those that this tree is built and tested with.
func TestInstallVersions(t *testing.T) {
	page, _ := installPage(t)
	modules, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for module, pattern := range map[string]string{
		"github.com/tektoncd/pipeline":                 `pipeline/releases/download/(v[0-9.]+)/release.yaml`,
		"github.com/metal3-io/baremetal-operator/apis": `config/base/crds\?ref=(v[0-9.]+)`,
	} {
		required := regexp.MustCompile(regexp.QuoteMeta(module) + ` (v[0-9.]+)`).FindStringSubmatch(string(modules))
		written := regexp.MustCompile(pattern).FindStringSubmatch(page)
		if required == nil || written == nil || required[1] != written[1] {
			t.Errorf("%s: go.mod has %q, docs/install.md has %q", module, required, written)
		}
	}
}

// TestInstallSettings: a user's Tekton gets the settings that the bootstrap machine gives to its own.
func TestInstallSettings(t *testing.T) {
	_, commands := installPage(t)
	written := map[string]string{}
	for _, command := range commands {
		found := regexp.MustCompile(`^kubectl patch configmap \S+ -n tekton-\S+ --type=merge -p '(.*)'$`).FindStringSubmatch(command)
		if found == nil {
			continue
		}
		var patch struct{ Data map[string]string }
		if err := json.Unmarshal([]byte(found[1]), &patch); err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		for key, value := range patch.Data {
			written[key] = value
		}
	}
	source, err := os.ReadFile("../../bootstrap/internal/cluster/tekton.go")
	if err != nil {
		t.Fatal(err)
	}
	_, settings, _ := strings.Cut(string(source), "var tektonSettings = ")
	settings, _, _ = strings.Cut(settings, "\n}\n")
	want := map[string]string{"allowed-namespaces": "bpa-system"}
	for _, m := range regexp.MustCompile(`"([a-z-]+)": +"([a-z]+)"`).FindAllStringSubmatch(settings, -1) {
		want[m[1]] = m[2]
	}
	if len(want) < 10 {
		t.Fatalf("only %d settings were found in bootstrap/internal/cluster/tekton.go", len(want))
	}
	for key, value := range want {
		if written[key] != value {
			t.Errorf("docs/install.md sets %s to %q, the bootstrap machine to %q", key, written[key], value)
		}
	}
	for key := range written {
		if _, ok := want[key]; !ok {
			t.Errorf("docs/install.md sets %s, the bootstrap machine does not", key)
		}
	}
}

// TestInstallNamesWhatIsThere: files, folders, Deployments and images of the page exist.
func TestInstallNamesWhatIsThere(t *testing.T) {
	page, commands := installPage(t)
	for _, command := range commands {
		for _, word := range strings.Fields(command) {
			if local := regexp.MustCompile(`^(\./)?(cmd|config)/\S*$`).FindString(word); local != "" {
				if _, err := os.Stat(filepath.Join("../..", local)); err != nil {
					t.Errorf("%s: %v", command, err)
				}
			}
		}
	}
	var deployments []string
	files, err := filepath.Glob("../../config/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range strings.Split(string(raw), "\n---\n") {
			var object struct {
				Kind     string
				Metadata struct{ Name string }
			}
			if yaml.Unmarshal([]byte(document), &object) == nil && object.Kind == "Deployment" {
				deployments = append(deployments, "`"+object.Metadata.Name+"`")
			}
		}
	}
	slices.Sort(deployments)
	if len(deployments) != 3 || strings.Contains(page, "three Deployments") != (len(deployments) == 3) {
		t.Errorf("config/ has the Deployments %v", deployments)
	}
	for _, name := range deployments {
		if !strings.Contains(page, name) {
			t.Errorf("docs/install.md does not name %s", name)
		}
	}
	var ko struct{ BaseImageOverrides map[string]string }
	raw, err := os.ReadFile("../../.ko.yaml")
	if err != nil || yaml.Unmarshal(raw, &ko) != nil || len(ko.BaseImageOverrides) != 4 {
		t.Fatalf(".ko.yaml: %v, %d base images; the page says four", err, len(ko.BaseImageOverrides))
	}
	for program := range ko.BaseImageOverrides {
		if !strings.Contains(page, "`"+filepath.Base(program)+"`") {
			t.Errorf("docs/install.md does not name %s, whose image is based on kubespray's", filepath.Base(program))
		}
	}
}

// TestInstallIsComplete: the page has each step, in an order in which each can work.
func TestInstallIsComplete(t *testing.T) {
	_, commands := installPage(t)
	at := -1
	for _, begin := range []string{
		"kubectl apply -f https://github.com/tektoncd/pipeline/", "kubectl apply --server-side -k ", "export KO_DOCKER_REPO=", "ko login ", "ko apply ",
		"kubectl patch configmap config-bpa ", "go build ", "kubectl create namespace ", "kubectl create secret generic ssh-key ", "kubectl get deployments ",
		"kubectl delete provisionings.bpa.akraino.org --all", "kubectl delete --ignore-not-found -f config/",
	} {
		i := slices.IndexFunc(commands, func(c string) bool { return strings.HasPrefix(c, begin) })
		if i <= at {
			t.Errorf("%q is command %d of docs/install.md, want it after %d", begin, i, at)
		}
		at = i
	}
}
