package session

import (
	"fmt"
	"io/fs"
	"os"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// standIn is the name of the lab's stand-in playbooks. They only install and reset clusters.
const standIn = "stand-in"

// engine names the playbooks of the image and their release: "kubespray v2.31.0". Both are in
// galaxy.yml, the description of an Ansible collection, which kubespray has in each release.
type engine struct{ Name, Version string }

func engineOf(playbooks string) (engine, error) {
	text, err := fs.ReadFile(os.DirFS(playbooks), "galaxy.yml")
	if err != nil {
		return engine{}, err
	}
	var e engine
	if err := yaml.Unmarshal(text, &e); err != nil {
		return engine{}, fmt.Errorf("galaxy.yml: %w", err)
	}
	return e, nil
}

// String returns an empty string for playbooks without a name, such as a site's own ones.
func (e engine) String() string {
	if e.Name == "" {
		return ""
	}
	return e.Name + " v" + e.Version
}

// check returns an error if the playbooks cannot do the operation.
func (e engine) check(in Input) error {
	if e.Name != standIn || slices.Contains([]string{contract.OperationInstall, contract.OperationReset}, in.Request.Operation) || in.Playbook == contract.PlaybookReset {
		return nil
	}
	return fmt.Errorf("the Task %s has the stand-in playbooks, which only install and reset clusters, so nothing was changed (operation %s): take the edit back, or delete the cluster, run make kubespray and make up, and install it with kubespray",
		contract.TaskKubespray, in.Request.Operation)
}
