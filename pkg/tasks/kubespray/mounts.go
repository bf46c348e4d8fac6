package kubespray

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/akraino-icn/bpa/pkg/tasks/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/outcome"
	"github.com/akraino-icn/bpa/pkg/tasks/workspace"
)

// Mounts are the folders that the workspaces are mounted at.
type Mounts struct {
	RequestDir, InventoryDir, SSHDir string
}

// Fill reads what the workspaces hold into the input.
func (m Mounts) Fill(in *Input, namespace, provisioning string) error {
	var err error
	if in.Request, err = workspace.Request(m.RequestDir, namespace, provisioning); err != nil {
		return err
	}
	if in.Nodes, err = workspace.Nodes(m.InventoryDir); err != nil {
		return err
	}
	for _, file := range []struct {
		dir, name string
		into      *[]byte
	}{
		{m.InventoryDir, contract.KeyHostsINI, &in.HostsINI},
		{m.InventoryDir, contract.KeyGroupVars, &in.GroupVars},
		{m.SSHDir, node.KeyFile, &in.PrivateKey},
	} {
		if *file.into, err = readFile(filepath.Join(file.dir, file.name)); err != nil {
			return outcome.Because(contract.ReasonInvalidRequest, fmt.Errorf("read %s: %w", file.name, err))
		}
	}
	return nil
}

// maxFile is more than a ConfigMap or a Secret can hold.
const maxFile = 2 << 20

func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(content) > maxFile {
		err = fmt.Errorf("it is longer than %d bytes", maxFile)
	}
	return content, err
}
