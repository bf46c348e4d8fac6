package play

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/akraino-icn/bpa/pkg/inventory"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/secretvars"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/playbook"
	"github.com/akraino-icn/bpa/pkg/tasks/playbook/acceleration"
)

// Files are the paths of the files that ansible-playbook reads.
type Files struct{ playbook.Files }

// file is a file to write.
type file struct {
	path    string
	content []byte
	mode    os.FileMode
}

// Prepare writes the files that the playbook of the input reads, below in.ScratchDir: inventory, variables, private
// key, and the pinned host keys of the nodes to which the playbook may connect.
func Prepare(in session.Input, pins ssh.Pins) (Files, error) {
	if err := in.CheckSecrets(); err != nil {
		return Files{}, err
	}
	f := Files{playbook.FilesIn(in.ScratchDir)}
	if err := writeSecrets(in, f); err != nil {
		return Files{}, err
	}
	on := accelerations(in)
	variables := acceleration.ExtraVars(on, in.Playbook, in.Request)
	maps.Copy(variables, in.ExtraVars)
	extra, err := f.extra(in.GroupVars, variables)
	if err != nil {
		return Files{}, err
	}
	hostVars := filepath.Join(filepath.Dir(f.Inventory), "host_vars")
	facts, err := facts(in, hostVars)
	if err != nil {
		return Files{}, err
	}
	if err := os.RemoveAll(hostVars); err != nil { // of another playbook of this run
		return Files{}, err
	}
	f.Acceleration, err = acceleration.Install(filepath.Join(in.ScratchDir, "acceleration"), on, os.Getenv("ANSIBLE_STRATEGY_PLUGINS"))
	if err != nil {
		return Files{}, err
	}
	for _, file := range facts {
		if err := WriteFile(file.path, file.content, file.mode); err != nil {
			return Files{}, fmt.Errorf("prepare %s: %w", file.path, err)
		}
	}
	return f, f.Write(playbook.Content{
		Inventory: in.HostsINI, GroupVars: in.GroupVars, PrivateKey: in.PrivateKey,
		KnownHosts: []byte(pins.Only(session.HostUIDs(in.ContactedNodes())...).String()), ExtraVars: extra,
	})
}

// facts returns, for the folder host_vars, the facts of the nodes that a limited playbook does not
// contact.
func facts(in session.Input, folder string) (all []file, err error) {
	for _, n := range in.Nodes {
		if len(in.Limit) == 0 || slices.Contains(in.Limit, n.Name) || n.Address == "" {
			continue
		}
		if !session.KubernetesName.MatchString(n.Name) {
			return nil, fmt.Errorf("%q is not the name of a node", n.Name)
		}
		text, err := inventory.Facts(n)
		if err != nil {
			return nil, err
		}
		all = append(all, file{filepath.Join(folder, n.Name+".json"), text, 0o600})
	}
	return all, nil
}

// extra returns the extra variables: those of the task, and inventory.Tables, because these variables
// have no effect in an inventory. They contain no other variable of the inventory.
func (f Files) extra(groupVars []byte, own map[string]any) ([]byte, error) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(groupVars, &given); err != nil {
		return nil, fmt.Errorf("group variables: %w", err)
	}
	extra := map[string]any{"ansible_ssh_args": f.SSHArgs()}
	for _, table := range inventory.Tables {
		if value, ok := given[table]; ok {
			extra[table] = value
		}
	}
	maps.Copy(extra, own)
	return json.Marshal(extra)
}

// WriteFile replaces a file, even if the existing file is read-only.
func WriteFile(path string, content []byte, mode os.FileMode) error {
	return playbook.Write(path, content, mode)
}

// writeSecrets writes the variables in Secrets beside the inventory, in whose variables of all hosts they have no
// values. Of two files in the folder, Ansible prefers the later one in the alphabet.
func writeSecrets(in session.Input, f Files) error {
	if len(in.Request.SecretVars) == 0 {
		return nil
	}
	text, err := secretvars.Ansible(in.Secrets.Only(in.Request.SecretVars))
	if err != nil {
		return err
	}
	path := filepath.Join(filepath.Dir(f.Inventory), "group_vars", "all", "secrets.yml")
	if err := WriteFile(path, text, 0o600); err != nil {
		return fmt.Errorf("prepare %s: %w", path, err)
	}
	return nil
}
