package cluster

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/bootstrap/internal/images"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// KubesprayRelease is the release of the real kubespray. A Provisioning selects it by
// spec.kubespray.release. KubesprayImage contains its playbooks. The lab builds this image in
// addition to AnsibleImage if the lab has a checkout of kubespray.
const (
	KubesprayRelease = "v2.31.0"
	KubesprayImage   = layout.Depot + "/base/ansible:kubespray-" + KubesprayRelease
)

// playbookTasks are the manifests of the Tasks whose images contain Ansible and playbooks.
var playbookTasks = []string{"600-task-kubespray.yaml", "600-task-seed-registry.yaml", "600-task-install-plugins.yaml", "600-task-install-software.yaml"}

// kubesprayTasks builds the images of the Tasks for KubesprayRelease, and returns the manifests of
// these Tasks. It returns nil if the depot does not have KubesprayImage.
func (c Cluster) kubesprayTasks(ctx context.Context, root string) ([]byte, error) {
	if !images.Exists(ctx, KubesprayImage) {
		return nil, nil
	}
	source, err := releaseTasks(os.DirFS(filepath.Join(root, projectConfig)), KubesprayRelease)
	if err != nil {
		return nil, err
	}
	resolved, err := c.resolveProject(ctx, root, source, KubesprayImage)
	return append([]byte("\n---\n"), resolved...), err
}

// releaseTasks returns the manifests in playbookTasks with the Task names that a Provisioning with
// this release uses: <task>-<release>.
func releaseTasks(config fs.FS, release string) ([]byte, error) {
	var joined bytes.Buffer
	for _, name := range playbookTasks {
		text, err := fs.ReadFile(config, name)
		if err != nil {
			return nil, err
		}
		var task map[string]any
		if err := yaml.Unmarshal(text, &task); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		metadata, _ := task["metadata"].(map[string]any)
		was, _ := metadata["name"].(string)
		if was == "" {
			return nil, fmt.Errorf("%s/%s contains no object with a name", projectConfig, name)
		}
		metadata["name"] = was + "-" + release
		renamed, err := yaml.Marshal(task)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&joined, "---\n%s\n", renamed)
	}
	return joined.Bytes(), nil
}
