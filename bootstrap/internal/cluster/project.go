package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/bootstrap/internal/images"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
	"github.com/akraino-icn/bpa/bootstrap/manifests"
)

// ErrNotYet: the project cannot be deployed because something that is made elsewhere is missing.
var ErrNotYet = errors.New("not deployed")

const (
	projectConfig    = "config"
	projectNamespace = "bpa-system"
	kubesprayTask    = "github.com/akraino-icn/bpa/cmd/kubespray"
	seedTask         = "github.com/akraino-icn/bpa/cmd/seed-registry"
)

// projectLeftOut: the machine's own depot serves the cluster; see manifests.DepotService.
var projectLeftOut = []string{"400-depot-service.yaml", "depot.yaml"}

// Deploy does what `ko apply -f config/` does on a machine with a registry of its own, and waits for the project to run.
func (c Cluster) Deploy(ctx context.Context) (bool, error) {
	root := filepath.Dir(c.Source)
	if _, err := os.Stat(filepath.Join(root, projectConfig)); err != nil {
		return false, fmt.Errorf("%w: no %s/ folder beside the bootstrap module", ErrNotYet, projectConfig)
	}
	if !images.Exists(ctx, AnsibleImage) {
		return false, fmt.Errorf("%w: the depot has no %s, the base of the kubespray task; make the lab's images first", ErrNotYet, AnsibleImage)
	}
	source, err := projectManifests(os.DirFS(filepath.Join(root, projectConfig)))
	if err != nil {
		return false, err
	}
	ca, err := os.ReadFile(c.Layout.DepotCA())
	if err != nil {
		return false, fmt.Errorf("the depot's CA, which it makes when it starts: %w", err)
	}
	if source, err = withSettings(source, map[string]any{
		"depot-url": "https://" + layout.DepotTLS, "depot-ca": string(ca), "depot-image-url": "http://" + layout.Depot,
	}); err != nil {
		return false, err
	}
	resolved, err := c.resolveProject(ctx, root, source, AnsibleImage)
	if err != nil {
		return false, err
	}
	release, err := c.kubesprayTasks(ctx, root)
	if err != nil {
		return false, err
	}
	resolved = append(resolved, release...)
	changed := !c.applied("project", resolved)
	if err := c.applyAgain(ctx, "project", resolved); err != nil { // always: whoever develops it may have deleted some of it
		return false, err
	}
	return changed, c.AwaitRollout(ctx, projectNamespace)
}

// resolveProject builds the project's images that the manifests name. base is the image with ansible-playbook and playbooks.
func (c Cluster) resolveProject(ctx context.Context, root string, source []byte, base string) ([]byte, error) {
	return c.resolve(ctx, koRun{
		name: "bpa", dir: root, stdin: source, args: []string{"-f", "-"}, base: map[string]string{kubesprayTask: base, seedTask: base},
	})
}

// projectManifests joins config/, with the machine's own depot in place of one in a pod.
func projectManifests(config fs.FS) ([]byte, error) {
	files, err := fs.Glob(config, "*.yaml") // sorted: their names begin with the order in which they are to be applied
	if err != nil {
		return nil, err
	}
	for _, name := range projectLeftOut {
		if !slices.Contains(files, name) {
			return nil, fmt.Errorf("%s/%s is not there: the depot of a pod may have another name now, and would be a second one", projectConfig, name)
		}
	}
	var joined bytes.Buffer
	for _, name := range files {
		if slices.Contains(projectLeftOut, name) {
			continue
		}
		text, err := fs.ReadFile(config, name)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&joined, "---\n%s\n", text)
	}
	fmt.Fprintf(&joined, "---\n%s", manifests.DepotService)
	return joined.Bytes(), nil
}

// settingsName is the ConfigMap with the site's settings.
const settingsName = "config-bpa"

// withSettings sets some of the site's settings: clusters that name no depot have this machine's. A comment in the ConfigMap is lost by it.
func withSettings(manifests []byte, settings map[string]any) ([]byte, error) {
	const mark = "---\n"
	documents := bytes.Split(manifests, []byte(mark))
	found := false
	for i, text := range documents {
		var o struct {
			Kind     string
			Metadata struct{ Name string }
		}
		if err := yaml.Unmarshal(text, &o); err != nil {
			return nil, fmt.Errorf("read the project's manifests: %w", err)
		}
		if o.Kind != "ConfigMap" || o.Metadata.Name != settingsName {
			continue
		}
		var cm map[string]any
		if err := yaml.Unmarshal(text, &cm); err != nil {
			return nil, err
		}
		data, _ := cm["data"].(map[string]any)
		for key, value := range settings {
			if _, known := data[key]; !known {
				return nil, fmt.Errorf("ConfigMap %s has no key %s: it may have another name now", settingsName, key)
			}
			data[key] = value
		}
		var err error
		if documents[i], err = yaml.Marshal(cm); err != nil {
			return nil, err
		}
		found = true
	}
	if !found {
		return nil, fmt.Errorf("the project's manifests have no ConfigMap %s", settingsName)
	}
	return bytes.Join(documents, []byte(mark)), nil
}
