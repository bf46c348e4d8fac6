//go:build integration

package integration

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	crd        = "crd/provisionings.bpa.akraino.org"
	validation = "validatingwebhookconfiguration/validation.webhook.bpa.akraino.org"
	schema     = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties"
	// oldSpec violates a rule of the webhook (the depot has no TLS) and three rules of the schema
	// (an item has two nodes, the quantity and the MAC address are malformed).
	oldSpec = "masters: [{m: {memory: lots}, n: {mac-address: none}}]\nworkers: [{w: {cpu: 1}}]\ndepot: {url: 'http://10.60.0.1:5000'}"
)

// until calls ask repeatedly until ask returns true. It fails the test after 30 s. Tests use it
// after a change of the rules, because the API server applies changed rules with a delay.
func until(t *testing.T, what string, ask func() (out string, done bool)) {
	t.Helper()
	var out string
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 30*time.Second, true, func(context.Context) (done bool, _ error) {
		out, done = ask()
		return done, nil
	})
	if err != nil {
		t.Fatalf("waiting until %s: %v\n%s", what, err, out)
	}
}

// storeOld stores an object that violates the current rules, like an object that an earlier version
// of BPA accepted. It removes the rules for the write and then restores them.
func storeOld(t *testing.T) {
	t.Helper()
	must(t, "", "patch", validation, "--type=json", "-p",
		`[{"op": "add", "path": "/webhooks/0/matchConditions/-", "value": {"name": "not-the-old-one", "expression": "object.metadata.name != 'old'"}}]`)
	var patch []string
	for _, rule := range []string{"masters/items/maxProperties", "masters/items/additionalProperties/properties/memory/pattern",
		"masters/items/additionalProperties/properties/mac-address/pattern"} {
		patch = append(patch, `{"op": "remove", "path": "`+schema+"/"+rule+`"}`)
	}
	must(t, "", "patch", crd, "--type=json", "-p", "["+strings.Join(patch, ",")+"]")
	t.Cleanup(func() { restoreRules(t) })
	until(t, "an object that violates the rules is stored", func() (string, bool) {
		out, err := kubectl(t, manifest("old", oldSpec), "apply", "-f", "-")
		return out, err == nil
	})
	restoreRules(t)
	for spec, want := range map[string]string{"masters: [{m: {memory: lots}}]": "should match", "depot: {url: 'http://d'}\n" + one: "is plain HTTP"} {
		until(t, "the rules are restored", func() (string, bool) {
			out, err := kubectl(t, manifest("old", spec), "apply", "--dry-run=server", "-f", "-")
			return out, err != nil && strings.Contains(out, want)
		})
	}
}

func restoreRules(t *testing.T) {
	t.Helper()
	out, err := shared.run(context.Background(), nil, "apply", "--server-side", "--force-conflicts", "-f", "../../config/300-provisionings.yaml")
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	// A second call of restoreRules does not find the match condition, and removes nothing.
	out, err = shared.run(context.Background(), nil, "get", validation, "-o", "jsonpath={.webhooks[0].matchConditions[*].name}")
	if err == nil && strings.HasSuffix(out, " not-the-old-one") {
		out, err = shared.run(context.Background(), nil, "patch", validation, "--type=json", "-p", `[{"op": "remove", "path": "/webhooks/0/matchConditions/1"}]`)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestStoredObjectsOutliveNewRules checks that a stored object that violates a newer rule can still
// be changed, except in the fields of the rule. This applies to rules of the webhook and of the
// schema.
func TestStoredObjectsOutliveNewRules(t *testing.T) {
	storeOld(t)
	must(t, "", "annotate", "bpa", "old", "bpa.akraino.org/retry=1")
	must(t, "", "label", "bpa", "old", "team=north")
	must(t, "", "patch", "bpa", "old", "--type=merge", "-p", `{"spec": {"paused": true, "depot": {"imageURL": "http://10.60.0.1:80"}}}`)
	must(t, "", "patch", "bpa", "old", "--type=merge", "-p", `{"metadata": {"finalizers": ["test.bpa.akraino.org/held"]}}`)
	for patch, want := range map[string]string{
		`{"spec": {"depot": {"url": "http://10.60.0.2:5000"}}}`:                 `"http://10.60.0.2:5000" is plain HTTP`,
		`{"spec": {"masters": [{"m": {"memory": "much"}}]}}`:                    "spec.masters[0].m.memory: Invalid value",
		`{"spec": {"ssh": {"port": 99999}}}`:                                    "spec.ssh.port: Invalid value: 99999",
		`{"spec": {"workers": [{"w": {"cpu": 1}}, {"v": {"memory": "lots"}}]}}`: "spec.workers[1].v.memory: Invalid value",
	} {
		if out, err := kubectl(t, "", "patch", "bpa", "old", "--type=merge", "-p", patch); err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v, %s\nwant %s", patch, err, out, want)
		}
	}
	must(t, "", "patch", "bpa", "old", "--type=merge", "-p", `{"spec": {"depot": {"insecure": true}, "masters": [{"m": {"memory": "16Gi"}}]}}`)
	must(t, "", "delete", "bpa", "old", "--wait=false")
	must(t, "", "patch", "bpa", "old", "--type=merge", "-p", `{"metadata": {"finalizers": null}}`)
}

// TestBadSettingsAreRefused checks that settings that the controller cannot use are rejected. The
// message names the key, the allowed values and the command that fixes the settings.
func TestBadSettingsAreRefused(t *testing.T) {
	settings := func(data string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config-bpa, namespace: bpa-system}\ndata: " + data + "\n"
	}
	apply := func(text string) (string, error) {
		return shared.run(t.Context(), []byte(text), "apply", "--dry-run=server", "-f", "-")
	}
	until(t, "the API server calls the webhook", func() (string, bool) {
		out, err := apply(settings("{depot-uri: x}"))
		return out, err != nil
	})
	for data, want := range map[string]string{
		"{depot-uri: 'https://d'}":                           "unknown setting depot-uri",
		"{depot-url: ''}":                                    `setting depot-url: it is empty`,
		"{max-attempts: many}":                               `setting max-attempts: the value is "many". Allowed: a whole number of at least 1`,
		"{depot-url: 'http://d:5000'}":                       `kubectl patch configmap config-bpa -n bpa-system --type merge -p '{"data":{"depot-url":"https://`,
		"{depot-url: 'http://d:5000', depot-insecure: 'no'}": `setting depot-insecure: the value is "no"`,
	} {
		if out, err := apply(settings(data)); err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v, %s\nwant %s", data, err, out, want)
		}
	}
	for _, text := range []string{
		settings("{depot-url: 'http://d:5000', depot-insecure: 'true'}"),
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: another, namespace: bpa-system}\ndata: {depot-uri: x}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config-bpa, namespace: " + namespace + "}\ndata: {depot-uri: x}\n",
	} {
		if out, err := apply(text); err != nil {
			t.Errorf("rejected: %s\n%s", text, out)
		}
	}
}
