package plugins

import (
	"fmt"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/plugin"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Artifacts returns the images and files that the cluster needs for the plugins that are not skipped. If
// a plugin cannot be installed, the error says why, with a failure reason.
func Artifacts(request contract.Request, all []Found) (artifacts.List, error) {
	lists := []artifacts.List{}
	skipped := map[string]bool{}
	for _, f := range all {
		if skipped[f.Name] = f.Skip != "" || needsOneOf(f, skipped); skipped[f.Name] {
			continue
		}
		if f.Err != nil {
			return artifacts.List{}, because(f, f.Err)
		}
		rendered, err := f.Render(request)
		if err != nil {
			return artifacts.List{}, because(f, err)
		}
		var list artifacts.List
		for _, image := range rendered.Images {
			list.Images = append(list.Images, plugin.ImageArtifact(image))
		}
		for _, file := range f.Definition.Files {
			artifact, err := file.Artifact()
			if err != nil {
				return artifacts.List{}, task.Because(contract.ReasonInvalidRequest, fmt.Errorf("plugin %s: %w", f.Name, err))
			}
			list.Files = append(list.Files, artifact)
		}
		lists = append(lists, list)
	}
	merged, err := artifacts.Merge(lists...)
	if err != nil {
		return artifacts.List{}, task.Because(contract.ReasonInvalidRequest, fmt.Errorf("two plugins contradict each other: %w", err))
	}
	return merged, nil
}

func needsOneOf(f Found, skipped map[string]bool) bool {
	for _, need := range f.Definition.Needs {
		if skipped[need] {
			return true
		}
	}
	return false
}

// because names the plugin in an error, and keeps its failure reason.
func because(f Found, err error) error {
	reason := task.FailureOf(err).Reason
	return task.Because(reason, fmt.Errorf("plugin %s: %s", f.Name, task.FailureOf(err).Message))
}
