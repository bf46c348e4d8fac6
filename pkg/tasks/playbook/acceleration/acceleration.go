package acceleration

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Names of the accelerations, as in spec.kubespray.acceleration.disable.
const (
	All = "All" // every acceleration
	// TemplateCache compiles each template once, and not in each process that uses it.
	TemplateCache = "TemplateCache"
	// Threads runs tasks in threads of Ansible, and not in processes.
	Threads = "Threads"
	// InProcess starts no process for a task that its host skips, or that runs on the controller only.
	InProcess = "InProcess"
	// LazyVariables templates only the used entries of kubespray's variable downloads.
	LazyVariables = "LazyVariables"
	// PreparedFacts copies the facts of a host once for each change of them, and not for each task.
	PreparedFacts = "PreparedFacts"
	// ModuleCache keeps Ansible's modules unpacked and compiled on the nodes.
	ModuleCache = "ModuleCache"
	// Interpreter keeps a Python process on each node, which starts Ansible's modules.
	Interpreter = "Interpreter"
	// Prefetch lets nodes fetch files and images while the playbook still prepares them.
	Prefetch = "Prefetch"
	// Variables sets variables of kubespray that let nodes pull images while the playbook goes on: see ExtraVars.
	Variables = "Variables"
)

// Names are the names of all accelerations.
var Names = []string{TemplateCache, Threads, InProcess, LazyVariables, PreparedFacts, ModuleCache, Interpreter, Prefetch, Variables}

//go:embed plugins/README.md plugins/*.py plugins/bpa_acceleration/*.py
var plugins embed.FS

// settings is the value of BPA_ACCELERATION, which plugins/bpa_acceleration/__init__.py describes.
type settings struct {
	Templates     string   `json:"templates,omitempty"`
	Threads       bool     `json:"threads,omitempty"`
	InProcess     bool     `json:"inProcess,omitempty"`
	LazyVariables []string `json:"lazyVariables,omitempty"`
	Facts         bool     `json:"facts,omitempty"`
	Modules       bool     `json:"modules,omitempty"`
	Interpreter   string   `json:"interpreter,omitempty"`
}

// On returns the accelerations that are not switched off. Prefetch is off without Threads: its playbook would
// need one process for each node, and playbook.Forks gives their memory to the playbook of the run.
func On(switchedOff []string) []string {
	if slices.Contains(switchedOff, All) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(Names), func(name string) bool {
		return slices.Contains(switchedOff, name) || name == Prefetch && slices.Contains(switchedOff, Threads)
	})
}

// Install writes the plugin and an empty folder for its cache into a folder that only this user can read,
// and returns the variables of the environment for Ansible. strategies is the value of
// ANSIBLE_STRATEGY_PLUGINS without the plugin. With no acceleration that needs the plugin, it writes nothing.
func Install(folder string, on []string, strategies string) ([]string, error) {
	var s settings
	if slices.Contains(on, TemplateCache) {
		s.Templates = filepath.Join(folder, "templates")
	}
	s.Threads, s.InProcess = slices.Contains(on, Threads), slices.Contains(on, InProcess)
	s.Facts, s.Modules = slices.Contains(on, PreparedFacts), slices.Contains(on, ModuleCache)
	if slices.Contains(on, LazyVariables) {
		s.LazyVariables = []string{"downloads"}
	}
	if slices.Contains(on, Interpreter) {
		s.Interpreter = filepath.Join(folder, "nodes")
	}
	text, err := json.Marshal(s)
	if err != nil || string(text) == "{}" {
		return nil, err
	}
	if err := write(folder); err != nil {
		return nil, fmt.Errorf("write Ansible's strategy plugin: %w", err)
	}
	search := []string{filepath.Join(folder, "plugins")}
	if strategies != "" {
		search = append(search, strategies)
	}
	return []string{"ANSIBLE_STRATEGY_PLUGINS=" + strings.Join(search, ":"), "BPA_ACCELERATION=" + string(text)}, nil
}

// write writes the plugin. An older one is replaced: it can be that of another playbook of this run.
func write(folder string) error {
	if err := os.RemoveAll(filepath.Join(folder, "plugins")); err != nil {
		return err
	}
	return fs.WalkDir(plugins, "plugins", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(folder, path)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		content, err := plugins.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, content, 0o600)
	})
}
