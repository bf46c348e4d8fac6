package cluster

import (
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/registry"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/bootstrap/internal/images"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
	"github.com/akraino-icn/bpa/bootstrap/manifests"
)

const flags = `apiVersion: v1
kind: ConfigMap
metadata: {name: feature-flags, namespace: tekton-pipelines}
data:
  coschedule: "workspaces"
  disable-creds-init: "false"
  keep-pod-on-cancel: "false"
  running-in-environment-with-injected-sidecars: "true"
  set-security-context: "false"
  enable-api-fields: "beta"
`

const resolverFlags = `apiVersion: v1
kind: ConfigMap
metadata: {name: resolvers-feature-flags, namespace: tekton-pipelines-resolvers}
data:
  enable-bundles-resolver: "true"
  enable-hub-resolver: "true"
  enable-git-resolver: "true"
  enable-cluster-resolver: "true"
  enable-http-resolver: "true"
`

const clusterResolver = `apiVersion: v1
kind: ConfigMap
metadata: {name: cluster-resolver-config, namespace: tekton-pipelines-resolvers}
data: {default-kind: task, default-namespace: "", allowed-namespaces: "", blocked-namespaces: ""}
`

func tektonConfig() fstest.MapFS {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	return fstest.MapFS{
		"config-feature-flags.yaml":              file(flags),
		"controller.yaml":                        file("kind: Deployment\nversion: \"devel\"\n"),
		"100-namespace/100-namespace.yaml":       file("kind: Namespace\n"),
		"events.yaml":                            file("kind: Unwanted\n"),
		"webhook-hpa.yaml":                       file("kind: Unwanted\n"),
		"dummy.go":                               file("package config\n"),
		"resolvers/config-feature-flags.yaml":    file(resolverFlags),
		"resolvers/cluster-resolver-config.yaml": file(clusterResolver),
		"resolvers/resolvers-deployment.yaml":    file("        command:\n        - /sbin/tini\n        - --\n        - /ko-app/resolvers\n"),
	}
}

func TestJoinTekton(t *testing.T) {
	joined, err := joinTekton(tektonConfig())
	if err != nil {
		t.Fatal(err)
	}
	text := string(joined)
	for _, unwanted := range []string{"Unwanted", "package config", "tini", "devel"} {
		if strings.Contains(text, unwanted) {
			t.Errorf("still holds %q", unwanted)
		}
	}
	if strings.Index(text, "Namespace") > strings.Index(text, "Deployment") {
		t.Error("a deployment comes before its namespace")
	}
	data := map[string]map[string]string{}
	for _, document := range strings.Split(text, "---\n") {
		var object struct {
			Metadata struct{ Name string }
			Data     map[string]string
		}
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		data[object.Metadata.Name] = object.Data
	}
	flags := data["feature-flags"]
	if flags["set-security-context"] != "true" || flags["enable-api-fields"] != "beta" {
		t.Errorf("flags %v: ours must be set and the others kept", flags)
	}
	want := map[string]string{
		"enable-bundles-resolver": "false", "enable-hub-resolver": "false", "enable-git-resolver": "false", "enable-http-resolver": "false",
		"enable-cluster-resolver": "true",
	}
	if diff := cmp.Diff(want, data["resolvers-feature-flags"]); diff != "" {
		t.Errorf("resolvers (-want +got):\n%s", diff)
	}
	want = map[string]string{"default-kind": "task", "default-namespace": "", "allowed-namespaces": projectNamespace, "blocked-namespaces": ""}
	if diff := cmp.Diff(want, data["cluster-resolver-config"]); diff != "" {
		t.Errorf("cluster resolver (-want +got):\n%s", diff)
	}
}

func TestJoinTektonFailsOnUnexpectedManifests(t *testing.T) {
	for name, change := range map[string]func(fstest.MapFS){
		"a flag is gone":         func(c fstest.MapFS) { c["config-feature-flags.yaml"].Data = []byte("data: {}\n") },
		"a resolver is gone":     func(c fstest.MapFS) { c["resolvers/config-feature-flags.yaml"].Data = []byte("data: {}\n") },
		"a file is gone":         func(c fstest.MapFS) { delete(c, "resolvers/cluster-resolver-config.yaml") },
		"an edit does not match": func(c fstest.MapFS) { c["resolvers/resolvers-deployment.yaml"].Data = []byte("other\n") },
	} {
		config := tektonConfig()
		change(config)
		if _, err := joinTekton(config); err == nil {
			t.Errorf("%s: no error; a new version of Tekton would be installed incorrectly", name)
		}
	}
}

// withDepot starts a registry and returns its address.
func withDepot(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func TestAllImagesExistChecksEveryImage(t *testing.T) {
	host := withDepot(t)
	img, err := images.Static(nil, "amd64")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := images.Push(t.Context(), host+"/tekton/controller:latest", img, authn.Anonymous); err != nil {
		t.Fatal(err)
	}
	there, err := images.Pinned(t.Context(), host+"/tekton/controller:latest")
	if err != nil {
		t.Fatal(err)
	}
	missing := host + "/tekton/webhook@sha256:" + strings.Repeat("0", 64)
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"all there":   {"image: " + there, true},
		"one missing": {"image: " + there + "\nimage: " + missing, false},
		"no image":    {"kind: Namespace", false},
	} {
		if got := allImagesExist(t.Context(), host+"/", []byte(c.text)); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

func TestApplySkipsUnchangedManifests(t *testing.T) {
	l := layout.Layout{Root: t.TempDir()}
	calls := filepath.Join(l.Root, "calls")
	script := "#!/bin/sh\ncat >/dev/null\necho called >>" + calls + "\n"
	if err := os.MkdirAll(l.BinDir(), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.Bin("kubectl"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	c := Cluster{Layout: l, Log: os.Stderr}
	for i, step := range []struct {
		text string
		want bool
	}{{"a", true}, {"a", false}, {"b", true}} {
		applied, err := c.Apply(t.Context(), "x", []byte(step.text))
		if err != nil || applied != step.want {
			t.Errorf("apply %d: %t, %v; want %t", i, applied, err, step.want)
		}
	}
	raw, err := os.ReadFile(calls)
	if got := strings.Count(string(raw), "called"); err != nil || got != 2 {
		t.Errorf("kubectl was called %d times (%v), want 2", got, err)
	}
}

func TestManifestsFitTheMachine(t *testing.T) {
	dns := string(manifests.CoreDNS)
	if !strings.Contains(dns, "clusterIP: ADDRESS") || !strings.Contains(dns, "image: IMAGE") {
		t.Error("the DNS manifest lacks the address that pods use for DNS, or the placeholder for its image")
	}
	for _, crd := range []string{"baremetalhosts.metal3.io", "hardwaredata.metal3.io", "hostdeploypolicies.metal3.io"} {
		if !strings.Contains(string(manifests.Metal3), "name: "+crd) {
			t.Errorf("no CRD %s", crd)
		}
	}
}
