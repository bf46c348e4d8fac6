package playbook

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/akraino-icn/bpa/pkg/ansible/process"
)

// Files are the paths of the files that ansible-playbook reads. All are in the scratch folder.
type Files struct {
	Scratch                               string
	Inventory, Key, KnownHosts, ExtraVars string
	ControlPaths                          string
	// Acceleration are variables of the environment that package acceleration has returned; nil: none.
	Acceleration []string
}

// FilesIn returns the paths in a scratch folder.
func FilesIn(scratch string) Files {
	at := func(name string) string { return filepath.Join(scratch, name) }
	return Files{
		Scratch: scratch, Inventory: at("inventory/hosts.ini"), Key: at("key"),
		KnownHosts: at("known_hosts"), ExtraVars: at("extra-vars.json"), ControlPaths: at("cp"),
	}
}

// Content is what ansible-playbook reads about the cluster.
type Content struct {
	Inventory, GroupVars, PrivateKey, KnownHosts, ExtraVars []byte
}

// Write writes the files and the folders that Ansible needs. It copies the inventory and the key from
// their mounts: kubespray writes into the inventory's folder, but a mount is read-only, and ssh rejects
// a key file that other users may read.
func (f Files) Write(c Content) error {
	at := func(name string) string { return filepath.Join(f.Scratch, name) }
	for _, file := range []struct {
		path    string
		content []byte
		mode    os.FileMode
	}{
		{f.Inventory, c.Inventory, 0o600},
		{at("inventory/group_vars/all/bpa.json"), c.GroupVars, 0o600},
		{f.Key, keyForOpenSSH(c.PrivateKey), 0o400},
		{f.KnownHosts, c.KnownHosts, 0o600},
		{f.ExtraVars, c.ExtraVars, 0o600},
		{at("tmp/.keep"), nil, 0o600},
		{at("cp/.keep"), nil, 0o600},
	} {
		if err := Write(file.path, file.content, file.mode); err != nil {
			return fmt.Errorf("prepare %s: %w", file.path, err)
		}
	}
	return nil
}

// keyForOpenSSH returns a private key with the line ends that OpenSSH requires. They are Unix line
// ends, and the last line must have one too.
func keyForOpenSSH(key []byte) []byte {
	return append(bytes.ReplaceAll(bytes.TrimSpace(key), []byte("\r\n"), []byte("\n")), '\n')
}

// Write replaces a file, even if the existing file is read-only.
func Write(path string, content []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.WriteFile(path, content, mode)
}

// SSHArgs returns the ssh options that verify host keys against the pinned ones. ssh uses the first
// value of each option. Because these options come first, neither kubespray's ansible.cfg nor a
// variable in the inventory can turn off the verification.
func (f Files) SSHArgs() string {
	return strings.Join([]string{
		"-o ControlMaster=auto", "-o ControlPersist=120s",
		"-o StrictHostKeyChecking=yes", "-o UserKnownHostsFile=" + f.KnownHosts, "-o GlobalKnownHostsFile=/dev/null",
		"-o ServerAliveInterval=15", "-o ServerAliveCountMax=8", "-o ConnectionAttempts=5",
	}, " ")
}

// Env returns the environment of ansible-playbook. playbooksDir has kubespray's playbooks: if it has an
// ansible.cfg, Ansible uses it.
func (f Files) Env(playbooksDir string) []string {
	env := []string{
		"HOME=" + f.Scratch,
		"TMPDIR=" + filepath.Join(f.Scratch, "tmp"),
		"PATH=" + os.Getenv("PATH"),
		"LC_ALL=C.UTF-8", // ansible requires UTF-8
		"PYTHONUNBUFFERED=1",
		"PYTHONDONTWRITEBYTECODE=1",
		"ANSIBLE_STDOUT_CALLBACK=ansible.posix.jsonl",
		"ANSIBLE_CALLBACKS_ENABLED=", // otherwise kubespray's callbacks would print text between the JSON lines
		"ANSIBLE_CACHE_PLUGIN_CONNECTION=" + filepath.Join(f.Scratch, "facts"),
		"ANSIBLE_LOCAL_TEMP=" + filepath.Join(f.Scratch, "tmp"),
		process.ControlPaths + "=" + f.ControlPaths,
		"ANSIBLE_HOST_KEY_CHECKING=True",
		"ANSIBLE_SSH_ARGS=" + f.SSHArgs(),
		"ANSIBLE_RETRY_FILES_ENABLED=False",
		"ANSIBLE_NOCOLOR=1",
	}
	if config := filepath.Join(playbooksDir, "ansible.cfg"); exists(config) {
		env = append(env, "ANSIBLE_CONFIG="+config)
	}
	for _, kept := range []string{"ANSIBLE_COLLECTIONS_PATH", "ANSIBLE_STRATEGY_PLUGINS", "LD_LIBRARY_PATH"} { // set by the image
		if value := os.Getenv(kept); value != "" {
			env = append(env, kept+"="+value)
		}
	}
	return append(env, f.Acceleration...) // of two values, the last one counts
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
