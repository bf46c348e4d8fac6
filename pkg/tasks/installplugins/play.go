package installplugins

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/akraino-icn/bpa/pkg/ansible"
	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/plugin"
	"github.com/akraino-icn/bpa/pkg/tasks/kube"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/playbook"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// play runs a playbook of a plugin on the nodes of the given BareMetalHosts, or on all nodes if there are
// none.
func (r *run) play(ctx context.Context, p plugin.Plugin, name string, parameters json.RawMessage, hosts []string) error {
	nodes := r.nodesOf(hosts)
	if len(nodes) == 0 {
		return errors.New("none of its nodes is in the inventory")
	}
	dir := filepath.Join(r.in.ScratchDir, "plugins", p.Name)
	if err := writePlugin(dir, p); err != nil {
		return err
	}
	files, err := r.prepare(ctx, p, parameters, nodes)
	if err != nil {
		return err
	}
	fmt.Fprintf(r.ports.Log, "  running %s on %s\n", name, nodeNames(nodes))
	recap, _, err := playbook.Run{
		Task: contract.TaskInstallPlugins, Name: name, Exec: r.ports.Playbook, Log: r.ports.Log,
		Command:  r.command(files, dir, name, nodes),
		Expected: ansible.CountTasks(os.DirFS(dir), name),
		Report:   func(_ int, step string) { r.progress.Set(0, p.Name+": "+step) },
	}.Do(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	fmt.Fprintf(r.ports.Log, "  %s\n", recap)
	return nil
}

// nodesOf returns the nodes on the hosts, or all nodes. Lost nodes are never contacted.
func (r *run) nodesOf(hosts []string) []contract.Node {
	return slices.DeleteFunc(slices.Clone(r.in.Nodes), func(n contract.Node) bool {
		return slices.Contains(r.in.Request.Lost, n.Name) || len(hosts) > 0 && !slices.Contains(hosts, n.Host)
	})
}

func nodeNames(nodes []contract.Node) string {
	var names []string
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	return strings.Join(names, ",")
}

// writePlugin writes the files of a plugin, so that a playbook finds its templates. plugin.Load has checked
// that no path leads out of the folder.
func writePlugin(dir string, p plugin.Plugin) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	for path, content := range p.Content {
		if err := playbook.Write(filepath.Join(dir, filepath.FromSlash(path)), content, 0o600); err != nil {
			return fmt.Errorf("prepare %s: %w", path, err)
		}
	}
	return nil
}

func (r *run) prepare(ctx context.Context, p plugin.Plugin, parameters json.RawMessage, nodes []contract.Node) (playbook.Files, error) {
	files := playbook.FilesIn(r.in.ScratchDir)
	known, err := r.ports.KnownHosts.Get(ctx, contract.KeyKnownHosts)
	if err != nil {
		return files, task.Because(kube.Reason(err), err)
	}
	pins, err := node.ParsePins(r.in.Request, known)
	if err != nil {
		return files, err
	}
	var uids []string
	for _, n := range nodes {
		uids = append(uids, n.HostUID)
	}
	vars, err := r.variables(p, parameters)
	if err != nil {
		return files, err
	}
	vars["ansible_ssh_args"] = files.SSHArgs()
	extra, err := json.Marshal(vars)
	if err != nil {
		return files, err
	}
	return files, files.Write(playbook.Content{
		Inventory: r.in.HostsINI, GroupVars: r.in.GroupVars, PrivateKey: r.in.PrivateKey, KnownHosts: []byte(pins.Only(uids...).String()), ExtraVars: extra,
	})
}

// variables returns the variables of a plugin's playbooks: see plugin.Plugin.
func (r *run) variables(p plugin.Plugin, parameters json.RawMessage) (map[string]any, error) {
	vars := map[string]any{}
	if len(parameters) > 0 {
		values, err := plugin.Values(parameters)
		if err != nil {
			return nil, task.Because(contract.ReasonInvalidRequest, err)
		}
		for name, value := range values {
			vars[name] = value
		}
	}
	downloads := map[string]map[string]string{}
	for _, f := range p.Files {
		from := f.URL
		if depot := r.in.Request.DepotURL; depot != "" {
			artifact, err := f.Artifact()
			if err != nil {
				return nil, task.Because(contract.ReasonInvalidRequest, err)
			}
			from = depot + "/files/" + artifact.Path
		}
		downloads[f.Name] = map[string]string{"url": from, "sha256": f.SHA256}
	}
	vars["plugin_name"], vars["plugin_version"], vars["plugin_files"] = p.Name, p.Version, downloads
	return vars, nil
}

func (r *run) command(files playbook.Files, dir, name string, nodes []contract.Node) process.Command {
	return process.Command{Dir: dir, Env: files.Env(r.in.PlaybooksDir), Args: []string{
		"ansible-playbook", "-b", "-i", files.Inventory, "--private-key", files.Key, "--forks", strconv.Itoa(playbook.Forks(len(nodes))),
		"-e", "@" + files.ExtraVars, "--limit", nodeNames(nodes), name,
	}}
}
