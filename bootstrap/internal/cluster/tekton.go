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

// tektonSettings are the keys of Tekton's ConfigMaps that differ from its defaults, by file.
//
// With the feature flags, steps run under the restricted pod security standard, start without waiting for injected
// sidecars, receive no credentials implicitly, and may share workspaces on any node. The logs of a cancelled run stay
// readable.
//
// With the settings of the resolvers, a run can only name Tasks and Pipelines of this project. Every user who can create
// runs could otherwise let the resolvers fetch addresses inside the site, and read the Tasks of other namespaces.
var tektonSettings = map[string]map[string]string{
	"config-feature-flags.yaml": {
		"coschedule":         "disabled",
		"disable-creds-init": "true",
		"keep-pod-on-cancel": "true",
		"running-in-environment-with-injected-sidecars": "false",
		"set-security-context":                          "true",
	},
	"resolvers/config-feature-flags.yaml": {
		"enable-bundles-resolver": "false",
		"enable-git-resolver":     "false",
		"enable-http-resolver":    "false",
		"enable-hub-resolver":     "false",
	},
	"resolvers/cluster-resolver-config.yaml": {"allowed-namespaces": projectNamespace},
}

// tektonExcluded are the manifests that are not applied. Autoscaling is useless on one node, and
// nothing receives Tekton's events.
var tektonExcluded = []string{"events.yaml", "webhook-hpa.yaml"}

// edit replaces text in one of Tekton's manifests. It is an error if the old text is not found.
type edit struct{ file, old, by string }

// tektonEdits remove the init program from the resolvers' command. Tekton's base image for the
// resolvers contains this program, which reaps processes that git leaves behind. Our base image
// does not contain it. The cluster resolver does not need it, because it starts no programs.
var tektonEdits = []edit{{
	"resolvers/resolvers-deployment.yaml",
	"        - /sbin/tini\n        - --\n        - /ko-app/resolvers\n", "        - /ko-app/resolvers\n",
}}

// InstallTekton builds Tekton's images from its Go module, applies the module's manifests, and
// waits until Tekton runs. It reports whether anything changed.
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

// tektonManifests returns the manifests with images by digest. It uses the cached manifests if
// their inputs did not change and the depot still has the images.
func (c Cluster) tektonManifests(ctx context.Context) ([]byte, error) {
	dir := filepath.Join(c.Source, "modules", "tekton")
	sums, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	if err != nil {
		return nil, err
	}
	base, err := images.Pinned(ctx, c.Layout.Pull(StaticImage))
	if err != nil {
		return nil, err
	}
	stamp := key(runtime.Version(), tektonVersion, string(sums), base, fmt.Sprint(tektonSettings, tektonExcluded, tektonEdits))
	cached, mark := c.Layout.Cache("tekton.yaml"), c.Layout.Cache("tekton.stamp")
	if have, err := os.ReadFile(mark); err == nil && string(have) == stamp {
		if resolved, err := os.ReadFile(cached); err == nil && allImagesExist(ctx, c.Layout.Pull(""), resolved) {
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

// tektonSource returns the manifests in Tekton's module, joined and adjusted to this machine.
func tektonSource(ctx context.Context, dir string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", tektonModule+"@"+tektonVersion)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("download Tekton's module: %w", err)
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
		if err == nil && strings.HasSuffix(path, ".yaml") && !slices.Contains(tektonExcluded, path) {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for path := range tektonSettings {
		if !slices.Contains(files, path) {
			return nil, fmt.Errorf("no file %s is in Tekton, whose settings this machine changes", path)
		}
	}
	slices.Sort(files) // file names begin with a number that gives the order
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
			return nil, fmt.Errorf("it does not contain %q", e.old)
		}
		text = bytes.ReplaceAll(text, []byte(e.old), []byte(e.by))
	}
	if settings := tektonSettings[path]; settings != nil {
		var err error
		if text, err = set(text, settings); err != nil {
			return nil, err
		}
	}
	return bytes.ReplaceAll(text, []byte(`"devel"`), []byte(`"`+tektonVersion+`"`)), nil
}

// set changes keys of a ConfigMap. It is an error if the ConfigMap does not have them.
func set(text []byte, settings map[string]string) ([]byte, error) {
	var object struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Metadata   map[string]any    `json:"metadata"`
		Data       map[string]string `json:"data"`
	}
	if err := yaml.Unmarshal(text, &object); err != nil {
		return nil, err
	}
	for name, value := range settings {
		if _, known := object.Data[name]; !known {
			return nil, fmt.Errorf("the ConfigMap has no key %q", name)
		}
		object.Data[name] = value
	}
	return yaml.Marshal(object)
}
