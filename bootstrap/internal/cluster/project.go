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

	"github.com/akraino-icn/bpa/bootstrap/internal/images"
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
	resolved, err := c.resolve(ctx, koRun{
		name: "bpa", dir: root, stdin: source, args: []string{"-f", "-"},
		base: map[string]string{kubesprayTask: AnsibleImage, seedTask: AnsibleImage},
	})
	if err != nil {
		return false, err
	}
	changed := !c.applied("project", resolved)
	if err := c.applyAgain(ctx, "project", resolved); err != nil { // always: whoever develops it may have deleted some of it
		return false, err
	}
	return changed, c.AwaitRollout(ctx, projectNamespace)
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
