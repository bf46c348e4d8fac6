package node

import (
	"flag"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Cluster is what a run that changes an installed cluster reads from its workspaces.
type Cluster struct {
	Request contract.Request
	// Nodes are the nodes of the cluster as the run leaves it.
	Nodes    []contract.Node
	HostsINI []byte
	// GroupVars are the variables of all hosts, as JSON.
	GroupVars  []byte
	PrivateKey []byte // private key of the SSH user, in PEM
}

// Workspaces are the folders with them, and the Provisioning that they must be for.
type Workspaces struct {
	Provisioning, Namespace          string
	requestDir, inventoryDir, sshDir string
}

// Flags defines a flag for each field.
func (w *Workspaces) Flags(set *flag.FlagSet) {
	set.StringVar(&w.Provisioning, "provisioning", "", "name of the Provisioning")
	set.StringVar(&w.Namespace, "namespace", "", "namespace of the Provisioning")
	set.StringVar(&w.requestDir, "request-dir", "", "folder with "+contract.KeyRequest)
	set.StringVar(&w.inventoryDir, "inventory-dir", "", "folder with "+contract.KeyNodes+", "+contract.KeyHostsINI+" and "+contract.KeyGroupVars)
	set.StringVar(&w.sshDir, "ssh-dir", "", "folder with "+KeyFile)
}

// Read reads the files. The error has a failure reason.
func (w Workspaces) Read() (c Cluster, err error) {
	if c.Request, err = task.ReadRequest(w.requestDir, w.Namespace, w.Provisioning); err != nil {
		return c, err
	}
	if c.Nodes, err = task.ReadMembers(w.inventoryDir, c.Request); err != nil {
		return c, err
	}
	for _, file := range []struct {
		dir, name string
		into      *[]byte
	}{
		{w.sshDir, KeyFile, &c.PrivateKey}, {w.inventoryDir, contract.KeyHostsINI, &c.HostsINI}, {w.inventoryDir, contract.KeyGroupVars, &c.GroupVars},
	} {
		if *file.into, err = ReadFile(file.dir, file.name); err != nil {
			return c, err
		}
	}
	return c, nil
}
