package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/bootstrap/internal/images"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
	"github.com/akraino-icn/bpa/bootstrap/manifests"
)

// ErrNotDeployed reports that the project cannot be deployed yet, because the output of another
// command is missing.
var ErrNotDeployed = errors.New("not deployed")

const (
	projectConfig    = "config"
	projectNamespace = "bpa-system"
	settingsName     = "config-bpa"
	kubesprayTask    = "github.com/akraino-icn/bpa/cmd/kubespray"
	seedTask         = "github.com/akraino-icn/bpa/cmd/seed-registry"
	pluginsTask      = "github.com/akraino-icn/bpa/cmd/install-plugins"
	softwareTask     = "github.com/akraino-icn/bpa/cmd/install-software"
)

// projectExcluded are the files of config/ that Deploy does not apply: the depot, because the machine's own
// depot serves the cluster (see manifests.DepotService), and the warning about namespaces without a label,
// because the machine's API server restricts them.
var projectExcluded = []string{"400-depot-service.yaml", "501-pod-security.yaml", "depot.yaml"}

// Deploy builds the project's images, applies config/ as `ko apply -f config/` does, and waits
// until the project runs. It reports whether the manifests changed since the last time.
func (c Cluster) Deploy(ctx context.Context) (bool, error) {
	root := filepath.Dir(c.Source)
	if _, err := os.Stat(filepath.Join(root, projectConfig)); err != nil {
		return false, fmt.Errorf("%w: no %s/ folder beside the bootstrap module", ErrNotDeployed, projectConfig)
	}
	if !images.Exists(ctx, c.Layout.Pull(AnsibleImage)) {
		return false, fmt.Errorf("%w: the depot has no %s, the base of the kubespray task: build it with `lab artifacts`, then run `machine deploy`", ErrNotDeployed, c.Layout.Pull(AnsibleImage))
	}
	source, err := projectManifests(os.DirFS(filepath.Join(root, projectConfig)), c.Layout.Net().NodeIP())
	if err != nil {
		return false, err
	}
	ca, err := os.ReadFile(c.Layout.DepotCA())
	if err != nil {
		return false, fmt.Errorf("read the depot's CA certificate, which the depot creates when it starts: %w", err)
	}
	depot := c.Layout.Net().DepotForServers()
	settings, err := siteSettings(map[string]string{
		"depot-url": "https://" + net.JoinHostPort(depot, layout.DepotTLSPort), "depot-ca": string(ca), "depot-image-url": "http://" + net.JoinHostPort(depot, layout.DepotPort),
	})
	if err != nil {
		return false, err
	}
	source = append(source, settings...)
	base := c.playbooksImage(ctx)
	resolved, err := c.resolveProject(ctx, root, source, base)
	if err != nil {
		return false, err
	}
	if base == KubesprayImage {
		standIn, err := c.standInTasks(ctx, root)
		if err != nil {
			return false, err
		}
		resolved = append(resolved, standIn...)
	}
	changed := !c.applied("project", resolved)
	if err := c.applyAndRecord(ctx, "project", resolved); err != nil { // always apply: a developer may have deleted some objects
		return false, err
	}
	return changed, c.AwaitRollout(ctx, projectNamespace)
}

// resolveProject builds the images that the manifests reference, and returns the manifests with
// digests. base is the image with ansible-playbook and the playbooks.
func (c Cluster) resolveProject(ctx context.Context, root string, source []byte, base string) ([]byte, error) {
	return c.resolve(ctx, koRun{
		name: "bpa", dir: root, stdin: source, args: []string{"-f", "-"}, base: map[string]string{kubesprayTask: base, seedTask: base, pluginsTask: base, softwareTask: base},
	})
}

// projectManifests joins the files of config/. It replaces the manifests of a depot in a pod with
// the Service of the machine's own depot.
func projectManifests(config fs.FS, node string) ([]byte, error) {
	files, err := fs.Glob(config, "*.yaml") // sorted: file names begin with a number that gives the order
	if err != nil {
		return nil, err
	}
	for _, name := range projectExcluded {
		if !slices.Contains(files, name) {
			return nil, fmt.Errorf("%s/%s does not exist: if the file was renamed, adapt projectExcluded, because this machine would otherwise get a second depot or a wrong warning", projectConfig, name)
		}
	}
	var joined bytes.Buffer
	for _, name := range files {
		if slices.Contains(projectExcluded, name) {
			continue
		}
		text, err := fs.ReadFile(config, name)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&joined, "---\n%s\n", text)
	}
	fmt.Fprintf(&joined, "---\n%s", bytes.ReplaceAll(manifests.DepotService, []byte("ADDRESS"), []byte(node)))
	return joined.Bytes(), nil
}

// siteSettings returns the ConfigMap with the site's settings as a further document. config/ does not
// contain it. The server-side apply adds these keys also to a ConfigMap that the controller has created,
// and the controller creates none if this one exists. Clusters that name no depot use this depot.
func siteSettings(data map[string]string) ([]byte, error) {
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": settingsName, "namespace": projectNamespace, "labels": map[string]string{"app.kubernetes.io/part-of": "bpa"}},
		"data":     data,
	})
	return append([]byte("\n---\n"), text...), err
}
