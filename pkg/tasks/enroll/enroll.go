package enroll

import (
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Mounts are the folders where the task's workspaces are mounted.
type Mounts struct {
	RequestDir, InventoryDir string
	SSHDir                   string // with the key of the cluster
	SiteSSHDir               string // with the key of the site
}

// Fill reads the workspaces into the input, and returns the private key of the site. It fails if the request is
// not for the given Provisioning.
func (m Mounts) Fill(in *session.Input, namespace, provisioning string) (siteKey []byte, err error) {
	if in.Request, err = task.ReadRequest(m.RequestDir, namespace, provisioning); err != nil {
		return nil, err
	}
	if in.Request.Operation != contract.OperationBackup { // its nodes are those of the record
		if in.Nodes, err = task.ReadNodes(m.InventoryDir, in.Request); err != nil {
			return nil, err
		}
	}
	in.Playbook = contract.OperationOf(in.Request.Operation).Playbook
	if in.PrivateKey, err = node.ReadFile(m.SSHDir, node.KeyFile); err != nil {
		return nil, err
	}
	return node.ReadFile(m.SiteSSHDir, node.KeyFile)
}
