package render

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/akraino-icn/bpa/pkg/plugin"
	"github.com/akraino-icn/bpa/pkg/plugin/pack"
	"github.com/google/go-cmp/cmp"
)

const page = "../../../docs/plugins.md"

var update = flag.Bool("update", false, "write the table of plugins into docs/plugins.md")

var tablePattern = regexp.MustCompile(`(?s)(<!-- The table is generated: [^\n]* -->\n\n).*?(<!-- end -->)`)

// TestTable compares the table in docs/plugins.md with the definitions.
func TestTable(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !tablePattern.Match(text) {
		t.Fatal("docs/plugins.md has no place for the table")
	}
	want := tablePattern.ReplaceAllString(string(text), "${1}"+strings.ReplaceAll(table(), "$", "$$")+"\n${2}")
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("docs/plugins.md is old: run go test ./pkg/plugin/render -run TestTable -update (-want +got):\n%s", diff)
	}
}

func table() string {
	all := plugin.Shipped()
	live := "| plugin | version | what it does | nodes | needs |\n| --- | --- | --- | --- | --- |\n"
	retired := "| retired plugin | use instead | why |\n| --- | --- | --- |\n"
	for _, name := range all.Names() {
		p := all[name]
		if p.Status == plugin.Retired {
			retired += fmt.Sprintf("| %s | %s | %s |\n", name, p.Successor, p.Reason)
			continue
		}
		nodes, _ := json.Marshal(p.Nodes)
		live += fmt.Sprintf("| %s | %s | %s | %s | %s |\n", link(p), p.Version, p.Description, requirements(nodes), strings.Join(p.Needs, ", "))
	}
	return live + "\n" + retired
}

func link(p plugin.Plugin) string { return fmt.Sprintf("[%s](%s)", p.Name, p.Upstream) }

// requirements writes {"sriov":true,"cpuFlags":["vmx"]} as "sriov: true, cpuFlags: vmx".
func requirements(text []byte) string {
	var needs map[string]any
	if err := json.Unmarshal(text, &needs); err != nil {
		return err.Error()
	}
	var out []string
	for name, value := range needs {
		out = append(out, strings.NewReplacer("[", "", "]", "").Replace(fmt.Sprintf("%s: %v", name, value)))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

var filePattern = regexp.MustCompile("(?s)   `hello/([^`\n]+)`:\n\n   ```yaml\n(.*?)   ```\n")

// TestWriteAPlugin follows the steps of docs/plugins.md: it writes the files of the page, and loads,
// validates, renders and packs them.
func TestWriteAPlugin(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	dir := fstest.MapFS{}
	for _, file := range filePattern.FindAllSubmatch(text, -1) {
		content := strings.TrimPrefix(strings.ReplaceAll("\n"+string(file[2]), "\n   ", "\n"), "\n")
		dir[string(file[1])] = &fstest.MapFile{Data: []byte(content)}
	}
	p, err := plugin.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	example, err := plugin.Load(os.DirFS("../../../docs/examples/hello"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(example.Content, p.Content); diff != "" {
		t.Errorf("docs/examples/hello differs from the page (-example +page):\n%s", diff)
	}
	all := plugin.Shipped().With(p)
	asked := []plugin.Asked{{Name: "hello", Version: "v1.0.0", Parameters: json.RawMessage(`{"replicas": 3}`)}} // as in step 5
	chosen, problems := all.Choose(asked, func(plugin.Definition) string { return "" })
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	r, err := Render(p, chosen[0].Parameters, Cluster{KubernetesVersion: "1.35.4"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := list(r.Objects), "Namespace hello, Role hello/hello-test, RoleBinding hello/hello-test, Deployment hello/hello"; got != want {
		t.Errorf("objects %s, want %s", got, want)
	}
	if replicas := r.Objects[3].Object["spec"].(map[string]any)["replicas"]; replicas != int64(3) {
		t.Errorf("replicas %v", replicas)
	}
	if len(r.Unlisted) > 0 || len(r.Images) != len(p.Images) || list(r.Test) != "ServiceAccount test, Job test" {
		t.Errorf("images %v, not listed %v, test %s", r.Images, r.Unlisted, list(r.Test))
	}
	for _, o := range slices.Concat(r.Objects, r.Test) {
		decodeStrictly(t, o)
	}
	if _, err := pack.Pack(p); err != nil {
		t.Error(err)
	}
}

// TestExamplesOfThePageAreRight checks the parameters in the first example of the page.
func TestExamplesOfThePageAreRight(t *testing.T) {
	p := plugin.Shipped()["sriov-network"]
	if p.Version != "v1.5.0" {
		t.Errorf("docs/plugins.md has the version v1.5.0, and the plugin %s", p.Version)
	}
	if _, problems := p.Complete(json.RawMessage(`{"disableDrain": true}`)); len(problems) > 0 {
		t.Error(problems)
	}
}
