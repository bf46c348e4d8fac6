package cluster

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/bootstrap/internal/images"
)

const (
	tektonModule  = "github.com/tektoncd/pipeline"
	tektonVersion = "v1.15.0"
)

// tektonFlags differ from Tekton's defaults: steps run under the restricted pod security standard, start without
// waiting for sidecars that nobody injects, get no credentials that they did not ask for, may share workspaces on any
// node, and a cancelled run's logs stay readable.
var tektonFlags = map[string]string{
	"coschedule":         "disabled",
	"disable-creds-init": "true",
	"keep-pod-on-cancel": "true",
	"running-in-environment-with-injected-sidecars": "false",
	"set-security-context":                          "true",
}

// tektonLeftOut: one node scales nothing, and nobody receives the events.
var tektonLeftOut = []string{"events.yaml", "webhook-hpa.yaml"}

// edit replaces a piece of one of Tekton's manifests; that it is not found is an error.
type edit struct{ file, old, by string }

// tektonEdits: Tekton's own base image for the resolvers holds an init, to reap what git leaves behind; ours holds
// nothing, and the cluster resolver starts no programs.
var tektonEdits = []edit{{
	"resolvers/resolvers-deployment.yaml",
	"        - /sbin/tini\n        - --\n        - /ko-app/resolvers\n", "        - /ko-app/resolvers\n",
}}

// InstallTekton builds Tekton's images from its Go module, applies its own manifests, and waits for it to run. It tells
// whether anything changed.
func (c Cluster) InstallTekton(ctx context.Context) (bool, error) {
	resolved, err := c.tektonManifests(ctx)
	if err != nil {
		return false, err
	}
	changed, err := c.Apply(ctx, "tekton", resolved)
	if err != nil {
		return false, err
	}
	for _, namespace := range []string{"tekton-pipelines", "tekton-pipelines-resolvers"} {
		if err := c.AwaitRollout(ctx, namespace); err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// tektonManifests gives the manifests with images by digest; from the cache while nothing that they are made from has
// changed and the depot still holds the images.
func (c Cluster) tektonManifests(ctx context.Context) ([]byte, error) {
	dir := filepath.Join(c.Source, "modules", "tekton")
	sums, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	if err != nil {
		return nil, err
	}
	base, err := images.Pinned(ctx, StaticImage)
	if err != nil {
		return nil, err
	}
	stamp := key(runtime.Version(), tektonVersion, string(sums), base, fmt.Sprint(tektonFlags, tektonLeftOut, tektonEdits))
	cached, mark := c.Layout.Cache("tekton.yaml"), c.Layout.Cache("tekton.stamp")
	if have, err := os.ReadFile(mark); err == nil && string(have) == stamp {
		if resolved, err := os.ReadFile(cached); err == nil && complete(ctx, resolved) {
			return resolved, nil
		}
	}
	manifests, err := tektonSource(ctx, dir)
	if err != nil {
		return nil, err
	}
	resolved, err := c.resolve(ctx, koRun{name: "tekton", dir: dir, stdin: manifests, args: []string{"-f", "-"}, tags: "disable_spire"})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(cached, resolved, 0o644); err != nil {
		return nil, err
	}
	return resolved, os.WriteFile(mark, []byte(stamp), 0o644)
}

// tektonSource joins the manifests that the module carries, adjusted to this machine.
func tektonSource(ctx context.Context, dir string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", tektonModule+"@"+tektonVersion)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("find Tekton's module: %w", err)
	}
	var module struct{ Dir string }
	if err := yaml.Unmarshal(out, &module); err != nil {
		return nil, err
	}
	return joinTekton(os.DirFS(filepath.Join(module.Dir, "config")))
}

func joinTekton(config fs.FS) ([]byte, error) {
	var files []string
	err := fs.WalkDir(config, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".yaml") && !slices.Contains(tektonLeftOut, path) {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(files) // their names begin with the order in which they are to be applied
	var joined bytes.Buffer
	for _, path := range files {
		text, err := fs.ReadFile(config, path)
		if err != nil {
			return nil, err
		}
		if text, err = adjust(path, text); err != nil {
			return nil, fmt.Errorf("adjust %s of Tekton: %w", path, err)
		}
		fmt.Fprintf(&joined, "---\n%s\n", text)
	}
	return joined.Bytes(), nil
}

func adjust(path string, text []byte) ([]byte, error) {
	for _, e := range tektonEdits {
		if e.file != path {
			continue
		}
		if !bytes.Contains(text, []byte(e.old)) {
			return nil, fmt.Errorf("%q is not in it", e.old)
		}
		text = bytes.ReplaceAll(text, []byte(e.old), []byte(e.by))
	}
	if path == "config-feature-flags.yaml" {
		var err error
		if text, err = setFlags(text); err != nil {
			return nil, err
		}
	}
	return bytes.ReplaceAll(text, []byte(`"devel"`), []byte(`"`+tektonVersion+`"`)), nil
}

func setFlags(text []byte) ([]byte, error) {
	var object struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Metadata   map[string]any    `json:"metadata"`
		Data       map[string]string `json:"data"`
	}
	if err := yaml.Unmarshal(text, &object); err != nil {
		return nil, err
	}
	for name, value := range tektonFlags {
		if _, known := object.Data[name]; !known {
			return nil, fmt.Errorf("there is no feature flag %q", name)
		}
		object.Data[name] = value
	}
	return yaml.Marshal(object)
}
