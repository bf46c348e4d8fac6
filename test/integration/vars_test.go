//go:build integration

package integration

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/test/canary"
)

// firstValue and nextValue are searched everywhere. They have characters that JSON quotes.
const firstValue, nextValue = `canary-"7d1f0c"-first`, `canary-"7d1f0c"-next`

const withVars = one + `kubespray:
  varsFrom:
  - {secretRef: {name: registry}}
  - {secretRef: {name: registry, key: password}, variable: registry_password}
`

// TestValuesOfSecretsAreNowhereElse: with the real controller, a value in a Secret gets into no other object, into no
// event and into no log, when a run waits for it, starts with it, and is stopped because it has changed. The same
// search finds a value that was planted.
func TestValuesOfSecretsAreNowhereElse(t *testing.T) {
	prepareSiteOf(t, "vars")
	c := startController(t)
	in := func(args ...string) string { return must(t, "", append([]string{"-n", "vars"}, args...)...) }
	await := func(object, state string) {
		t.Helper()
		if out, err := kubectl(t, "", "wait", "-n", "vars", object, "--timeout=28s", state); err != nil {
			t.Fatalf("%s %s: %v\n%s\n%s\ncontroller:\n%s", object, state, err, out, in("get", "bpa,pipelineruns", "-o", "yaml"), c.output(t))
		}
	}

	must(t, manifest("edge-1", withVars), "apply", "-n", "vars", "-f", "-")
	await("bpa/edge-1", `--for=jsonpath={.status.conditions[?(@.type=="Ready")].reason}=VarsMissing`)
	admin := hostClient(t, "")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "vars", Name: "registry", Labels: map[string]string{contract.LabelVars: "true"}}}
	fill := func(value string) {
		secret.Data = map[string][]byte{"vars.yaml": []byte("oidc:\n  client_secret: '" + value + "'\n"), "password": []byte(value + "\n")}
	}
	fill(firstValue)
	if err := admin.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	await("pipelinerun/edge-1-install-1", "--for=create")
	digests := func() string { return in("get", "bpa", "edge-1", "-o", "jsonpath={.status.secretVars}") }
	await("bpa/edge-1", "--for=jsonpath={.status.secretVars.registry_password}")
	before := digests()
	fill(nextValue)
	if err := admin.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	await("pipelinerun/edge-1-install-1", "--for=jsonpath={.spec.status}=Cancelled")
	if after := digests(); after == before || !strings.Contains(after, "registry_password") || !strings.Contains(after, "oidc") {
		t.Errorf("digests %s, then %s", before, after)
	}

	fields := []string{"Secret vars/registry.data.password", "Secret vars/registry.data.vars.yaml"}
	if diff := cmp.Diff(fields, findEverywhere(t, nextValue)); diff != "" {
		t.Errorf("places of the value (-want +got):\n%s", diff)
	}
	if found := findEverywhere(t, firstValue); len(found) > 0 {
		t.Errorf("places of the former value: %q", found)
	}
	if log := c.output(t); canary.In([]byte(log), firstValue) || canary.In([]byte(log), nextValue) {
		t.Errorf("the controller's log has a value:\n%s", log)
	} else if strings.Contains(log, "forbidden") {
		t.Errorf("config/200-controller.yaml lacks a permission:\n%s", log)
	}

	planted := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "vars", Name: "planted"}, Data: map[string]string{"text": zippedBase64(t, "much text\n"+nextValue)}}
	if err := admin.Create(t.Context(), planted, &client.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(append([]string{"ConfigMap vars/planted.data.text"}, fields...), findEverywhere(t, nextValue)); diff != "" {
		t.Errorf("places with a planted value (-want +got):\n%s", diff)
	}
}

// findEverywhere returns the fields of all objects of all kinds of the API server, events among them, that contain the
// text in some form.
func findEverywhere(t *testing.T, text string) (found []string) {
	t.Helper()
	kinds := strings.Fields(must(t, "", "api-resources", "--verbs=list", "-o", "name"))
	if len(kinds) < 30 {
		t.Fatalf("only the kinds %q", kinds)
	}
	list, err := kubectl(t, "", "get", strings.Join(kinds, ","), "-A", "-o", "json", "--show-managed-fields")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(list) {
		if !strings.HasPrefix(line, "Warning: ") { // of kubectl, about kinds that are deprecated
			lines = append(lines, line)
		}
	}
	found, err = canary.Find([]byte(strings.Join(lines, "")), text)
	if err != nil {
		t.Fatal(err)
	}
	seen := []string{}
	for _, place := range found { // events have two groups
		if len(seen) == 0 || seen[len(seen)-1] != place {
			seen = append(seen, place)
		}
	}
	return seen
}

func zippedBase64(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}
