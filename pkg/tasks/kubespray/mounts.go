package kubespray

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/akraino-icn/bpa/pkg/tasks/contract"
)

// Mounts are the folders that the workspaces are mounted at.
type Mounts struct {
	RequestDir, InventoryDir, SSHDir string
}

// KeySSH is the file with the private key in a Secret of type kubernetes.io/ssh-auth.
const KeySSH = "ssh-privatekey"

// maxFile is more than a ConfigMap or a Secret can hold.
const maxFile = 2 << 20

// Read fills the input with what the workspaces hold.
func (m Mounts) Read(in Input) (Input, error) {
	var request, nodes []byte
	for _, file := range []struct {
		dir, name string
		into      *[]byte
	}{
		{m.RequestDir, contract.KeyRequest, &request},
		{m.InventoryDir, contract.KeyNodes, &nodes},
		{m.InventoryDir, contract.KeyHostsINI, &in.HostsINI},
		{m.InventoryDir, contract.KeyGroupVars, &in.GroupVars},
		{m.SSHDir, KeySSH, &in.PrivateKey},
	} {
		content, err := readFile(filepath.Join(file.dir, file.name))
		if err != nil {
			return Input{}, err
		}
		*file.into = content
	}
	if err := json.Unmarshal(request, &in.Request); err != nil {
		return Input{}, fmt.Errorf("read %s: %w", contract.KeyRequest, err)
	}
	if err := json.Unmarshal(nodes, &in.Nodes); err != nil {
		return Input{}, fmt.Errorf("read %s: %w", contract.KeyNodes, err)
	}
	return in, nil
}

func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(content) > maxFile {
		err = fmt.Errorf("%s is larger than %d bytes", path, maxFile)
	}
	return content, err
}
