package kubespray

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/inventory"
	"github.com/akraino-icn/bpa/pkg/ssh"
)

// files are the paths of the files that ansible-playbook reads. All are in the scratch folder.
type files struct {
	scratch                               string
	inventory, key, knownHosts, extraVars string
	controlPaths                          string
}

// file is a file to write.
type file struct {
	path    string
	content []byte
	mode    os.FileMode
}

// prepare writes the files. It copies the inventory and the key from their mounts: kubespray writes
// into the inventory's folder, but a mount is read-only, and ssh rejects a key file that other
// users may read.
func prepare(in Input, pins ssh.Pins) (files, error) {
	at := func(name string) string { return filepath.Join(in.ScratchDir, name) }
	f := files{
		scratch: in.ScratchDir, inventory: at("inventory/hosts.ini"), key: at("key"),
		knownHosts: at("known_hosts"), extraVars: at("extra-vars.json"), controlPaths: at("cp"),
	}
	extra, err := f.extra(in.GroupVars, in.extra)
	if err != nil {
		return files{}, err
	}
	hostVars := at("inventory/host_vars")
	facts, err := in.facts(hostVars)
	if err != nil {
		return files{}, err
	}
	if err := os.RemoveAll(hostVars); err != nil { // of another playbook of this run
		return files{}, err
	}
	for _, file := range append(facts, []file{
		{f.inventory, in.HostsINI, 0o600},
		{at("inventory/group_vars/all/bpa.json"), in.GroupVars, 0o600},
		{f.key, keyForOpenSSH(in.PrivateKey), 0o400},
		{f.knownHosts, []byte(pins.Only(uids(in.contacted())...).String()), 0o600},
		{f.extraVars, extra, 0o600},
		{at("tmp/.keep"), nil, 0o600},
		{at("cp/.keep"), nil, 0o600},
	}...) {
		if err := write(file.path, file.content, file.mode); err != nil {
			return files{}, fmt.Errorf("prepare %s: %w", file.path, err)
		}
	}
	return f, nil
}

// facts returns, for the folder host_vars, the facts of the nodes that a limited playbook does not
// contact.
func (in Input) facts(folder string) (all []file, err error) {
	for _, n := range in.Nodes {
		if len(in.limit) == 0 || slices.Contains(in.limit, n.Name) || n.Address == "" {
			continue
		}
		if !kubernetesName.MatchString(n.Name) {
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

// keyForOpenSSH returns a private key with the line ends that OpenSSH requires. They are Unix line
// ends, and the last line must have one too.
func keyForOpenSSH(key []byte) []byte {
	return append(bytes.ReplaceAll(bytes.TrimSpace(key), []byte("\r\n"), []byte("\n")), '\n')
}

// extra returns the extra variables: those of the task, and inventory.Tables, because these variables
// have no effect in an inventory. They contain no other variable of the inventory.
func (f files) extra(groupVars []byte, own map[string]any) ([]byte, error) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(groupVars, &given); err != nil {
		return nil, fmt.Errorf("group variables: %w", err)
	}
	extra := map[string]any{"ansible_ssh_args": f.sshArgs()}
	for _, table := range inventory.Tables {
		if value, ok := given[table]; ok {
			extra[table] = value
		}
	}
	maps.Copy(extra, own)
	return json.Marshal(extra)
}

// write replaces a file, even if the existing file is read-only.
func write(path string, content []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.WriteFile(path, content, mode)
}

// sshArgs returns the ssh options that verify host keys against the pinned ones. ssh uses the first
// value of each option. Because these options come first, neither kubespray's ansible.cfg nor a
// variable in the inventory can turn off the verification.
func (f files) sshArgs() string {
	return strings.Join([]string{
		"-o ControlMaster=auto", "-o ControlPersist=120s",
		"-o StrictHostKeyChecking=yes", "-o UserKnownHostsFile=" + f.knownHosts, "-o GlobalKnownHostsFile=/dev/null",
		"-o ServerAliveInterval=15", "-o ServerAliveCountMax=8", "-o ConnectionAttempts=5",
	}, " ")
}
