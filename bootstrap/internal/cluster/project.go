package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/akraino-icn/bpa/bootstrap/internal/images"
)

// ErrNotYet: the project cannot be deployed because something that is made elsewhere is missing.
var ErrNotYet = errors.New("not deployed")

const (
	projectConfig    = "config"
	projectNamespace = "bpa-system"
	kubesprayTask    = "github.com/akraino-icn/bpa/cmd/kubespray"
)

// Deploy does what `ko apply -f config/` does on a machine with a registry of its own, and waits for the project to run.
func (c Cluster) Deploy(ctx context.Context) (bool, error) {
	root := filepath.Dir(c.Source)
	if _, err := os.Stat(filepath.Join(root, projectConfig)); err != nil {
		return false, fmt.Errorf("%w: no %s/ folder beside the bootstrap module", ErrNotYet, projectConfig)
	}
	if !images.Exists(ctx, AnsibleImage) {
		return false, fmt.Errorf("%w: the depot has no %s, the base of the kubespray task; make the lab's images first", ErrNotYet, AnsibleImage)
	}
	resolved, err := c.resolve(ctx, koRun{
		name: "bpa", dir: root, args: []string{"-f", projectConfig + "/"},
		base: map[string]string{kubesprayTask: AnsibleImage},
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
