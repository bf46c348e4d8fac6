//go:build integration

package integration

import (
	"path/filepath"
	"strings"
	"testing"
)

// softwareOf returns the manifest of a Software of the cluster edge-1.
func softwareOf(name, spec string) string {
	return "apiVersion: bpa.akraino.org/v1alpha1\nkind: Software\nmetadata: {name: " + name + "}\nspec: {cluster: edge-1, " + spec + "}\n"
}

// TestSoftwaresAreChecked applies the samples of the kind Software, two of them ICN's own, and checks what the
// webhook and the schema refuse. Both notations of a package are stored as they were written.
func TestSoftwaresAreChecked(t *testing.T) {
	files, err := filepath.Glob("../../config/samples/*software*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("samples: %v, %v", files, err)
	}
	for _, file := range files {
		must(t, "", "apply", "--dry-run=server", "--server-side", "-f", file)
		must(t, "", "apply", "-f", file)
		must(t, "", "apply", "-f", file)
	}
	stored := must(t, "", "get", "software", "sample-software", "-o", "jsonpath={.metadata.generation} {.spec.masterSoftware}")
	if want := `1 ["expect","htop",{"jq":{"version":"1.5+dfsg-1ubuntu0.1"}},"maven"]`; stored != want {
		t.Errorf("stored %s, want %s", stored, want)
	}
	for want, input := range map[string]string{
		`"-y" is not the name of a package: spec.workerSoftware[1]`:          softwareOf("bad", "workerSoftware: [curl, -y]"),
		"the object has 2 keys (curl, jq), so its package is not known":      softwareOf("bad", "masterSoftware: [{jq: {}, curl: {}}]"),
		`package jq has the unknown option "state"`:                          softwareOf("bad", "masterSoftware: [jq: {state: absent}]"),
		"version of package jq is 1.5, which is no text: write it in quotes": softwareOf("bad", "masterSoftware: [jq: {version: 1.5}]"),
		`package "jq" is also entry 0`:                                       softwareOf("bad", "masterSoftware: [jq, jq]"),
		"write one of None, Drain, Reboot":                                   softwareOf("bad", "masterSoftware: [jq: {disruption: Yes please}]"),
		"the Software names no cluster":                                      strings.Replace(softwareOf("bad", "masterSoftware: [jq]"), "cluster: edge-1, ", "", 1),
		`unknown field "spec.packages"`:                                      softwareOf("bad", "packages: [jq]"),
		"must have at most 200 items":                                        softwareOf("bad", "masterSoftware: ["+strings.Repeat("jq, ", 200)+"jq]"),
	} {
		if out, err := kubectl(t, input, "apply", "-f", "-"); err == nil || !strings.Contains(out, want) {
			t.Errorf("%s was accepted, or the answer lacks %q: %s", input, want, out)
		}
	}
	heading, _, _ := strings.Cut(must(t, "", "get", "sw", "-o", "wide"), "\n")
	if got := strings.Join(strings.Fields(heading), " "); got != "NAME CLUSTER READY REASON INSTALLED FAILED MESSAGE AGE" {
		t.Errorf("heading %q", got)
	}
}

// TestSoftwaresHaveARoleOfTheirOwn checks that the right to be root on the nodes is none of those to write
// Provisionings.
func TestSoftwaresHaveARoleOfTheirOwn(t *testing.T) {
	must(t, "", "apply", "--server-side", "-n", "bpa-system", "-f", "../../config/201-people.yaml")
	must(t, "", "create", "namespace", "drivers")
	must(t, "", "create", "rolebinding", "view", "-n", "drivers", "--clusterrole=bpa-view", "--user=ada", "--user=bob")
	must(t, "", "create", "rolebinding", "edit", "-n", "drivers", "--clusterrole=bpa-edit", "--user=ada")
	must(t, "", "create", "rolebinding", "root", "-n", "drivers", "--clusterrole=bpa-software-edit", "--user=bob")
	for user, want := range map[string]string{"ada": "no", "bob": "yes"} {
		for _, verb := range []string{"create", "update", "patch", "delete"} {
			out, _ := kubectl(t, "", "auth", "can-i", verb, "softwares.bpa.akraino.org", "-n", "drivers", "--as="+user)
			if strings.TrimSpace(out) != want {
				t.Errorf("%s %s: %q, want %s", user, verb, out, want)
			}
		}
		if out := must(t, "", "auth", "can-i", "list", "softwares.bpa.akraino.org", "-n", "drivers", "--as="+user); strings.TrimSpace(out) != "yes" {
			t.Errorf("%s list: %q", user, out)
		}
	}
}
