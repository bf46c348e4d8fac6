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
)

// KubesprayImage, in the depot, contains the playbooks of the real kubespray. The lab builds it in addition to
// AnsibleImage, which contains the stand-in playbooks, if the lab has a checkout of kubespray. The
// Tasks are then those of kubespray, and a Provisioning selects the stand-in by the release StandIn.
const (
	KubesprayImage = "base/ansible:kubespray-v2.31.0"
	StandIn        = "stand-in"
)

// playbookTasks are the manifests of the Tasks whose images contain Ansible and playbooks.
var playbookTasks = []string{"600-task-kubespray.yaml", "600-task-seed-registry.yaml", "600-task-install-plugins.yaml", "600-task-install-software.yaml"}

// playbooksImage returns the base image of the Tasks that run playbooks: KubesprayImage if the depot
// has it.
func (c Cluster) playbooksImage(ctx context.Context) string {
	if images.Exists(ctx, c.Layout.Pull(KubesprayImage)) {
		return KubesprayImage
	}
	return AnsibleImage
}

// standInTasks builds the images of the Tasks for the release StandIn, and returns the manifests of
// these Tasks.
func (c Cluster) standInTasks(ctx context.Context, root string) ([]byte, error) {
	source, err := releaseTasks(os.DirFS(filepath.Join(root, projectConfig)), StandIn)
	if err != nil {
		return nil, err
	}
	resolved, err := c.resolveProject(ctx, root, source, AnsibleImage)
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
