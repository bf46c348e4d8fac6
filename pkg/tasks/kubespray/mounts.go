package kubespray

import (
	"fmt"

	"github.com/akraino-icn/bpa/pkg/backup"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/secretvars"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Mounts are the folders where the task's workspaces are mounted.
type Mounts struct {
	RequestDir, InventoryDir, SSHDir string
	// BackupKeyDir has the private key of the backups; empty: the run does not restore one.
	BackupKeyDir string
	// VarsDir has the values of variables in Secrets; empty: there are none.
	VarsDir string
}

// Fill reads the workspaces into the input. It fails if the request is not for the given
// Provisioning.
func (m Mounts) Fill(in *session.Input, namespace, provisioning string) error {
	var err error
	if in.Request, err = task.ReadRequest(m.RequestDir, namespace, provisioning); err != nil {
		return err
	}
	if in.Nodes, err = task.ReadNodes(m.InventoryDir, in.Request); err != nil {
		return err
	}
	type file struct {
		dir, name string
		into      *[]byte
	}
	files := []file{{m.SSHDir, node.KeyFile, &in.PrivateKey}}
	if in.Playbook != contract.PlaybookReset { // a reset renders its inventory itself
		files = append(files, file{m.InventoryDir, contract.KeyHostsINI, &in.HostsINI}, file{m.InventoryDir, contract.KeyGroupVars, &in.GroupVars})
	}
	if in.Request.Restore != nil {
		files = append(files, file{m.BackupKeyDir, backup.KeyIdentity, &in.BackupKey})
	}
	for _, file := range files {
		if *file.into, err = node.ReadFile(file.dir, file.name); err != nil {
			return err
		}
	}
	in.Secrets, err = secretvars.Read(m.VarsDir)
	switch {
	case in.Playbook == contract.PlaybookReset: // it works without them, and a Secret can be gone before its cluster
		return nil
	case err != nil:
		return task.Because(contract.ReasonVarsChanged, fmt.Errorf("%w. Nothing was changed on any node", err))
	}
	return nil
}
