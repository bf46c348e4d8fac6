package seedregistry

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/ansible"
	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/inventory"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// ListInput holds the parameters of the first step.
type ListInput struct {
	Request contract.Request
	// PlaybooksDir holds the playbooks. They are kubespray's, or others that contain the playbook
	// artifacts.yml.
	PlaybooksDir string
	// ScratchDir is a writable folder.
	ScratchDir string
}

// ListPorts are the functions and objects through which the first step reaches the outside.
type ListPorts struct {
	// Playbook runs ansible-playbook and returns its exit status.
	Playbook func(ctx context.Context, c process.Command, stdout, stderr io.Writer) (int, error)
	Log      io.Writer
}

// entry is the name of the playbook that lists artifacts. kubespray has none.
const entry = "artifacts.yml"

// kubesprayEntry is the playbook that lists the artifacts of kubespray.
//
//go:embed kubespray.yml
var kubesprayEntry []byte

// List runs a playbook that lists the artifacts which this request needs from the depot. It returns
// the list, and the files in it for which the playbooks have no checksum. It connects to no host. For
// an upgrade, the list has the artifacts of all versions on the way: otherwise the cluster could stop
// between two versions. The files without a checksum are those of the first version, because the run
// upgrades nodes only to this one. A run that only patches operating systems needs none of them: the
// packages that it finds are those that are newer than the installed ones.
func List(ctx context.Context, in ListInput, ports ListPorts) (artifacts.List, []Pin, error) {
	if in.Request.DepotURL == "" {
		fmt.Fprintln(ports.Log, "No depot is set: nodes fetch images, files and packages from the Internet.")
		return artifacts.List{}, nil, nil
	}
	if in.Request.OnlyPatches() {
		fmt.Fprintln(ports.Log, "The run only patches operating systems, so it needs no images and no files. apt-get finds the packages in the depot.")
		return artifacts.List{}, nil, nil
	}
	list, pins, err := listOne(ctx, in, ports)
	if err != nil || in.Request.Upgrade == nil {
		return list, pins, err
	}
	lists := []artifacts.List{list}
	for _, version := range in.Request.Upgrade.Path {
		if version == in.Request.KubernetesVersion {
			continue
		}
		later := in
		later.Request.KubernetesVersion = version
		later.ScratchDir = filepath.Join(in.ScratchDir, fmt.Sprintf("later-%d", len(lists)))
		if list, _, err = listOne(ctx, later, ports); err != nil {
			return artifacts.List{}, nil, err
		}
		lists = append(lists, list)
	}
	if list, err = artifacts.Merge(lists...); err != nil {
		return artifacts.List{}, nil, task.Because(contract.ReasonPlaybookFailed, fmt.Errorf("the versions %s need different artifacts: %w", strings.Join(in.Request.Upgrade.Path, ", "), err))
	}
	return list, pins, nil
}

// listOne lists the artifacts of one version of Kubernetes.
func listOne(ctx context.Context, in ListInput, ports ListPorts) (artifacts.List, []Pin, error) {
	system, err := SystemOf(in.Request.OperatingSystem)
	if err != nil {
		return artifacts.List{}, nil, task.Because(contract.ReasonInvalidRequest, err)
	}
	nodes, err := standIns(in.Request)
	if err != nil {
		return artifacts.List{}, nil, task.Because(contract.ReasonInvalidRequest, err)
	}
	playbook, err := prepare(in, system, nodes)
	if err != nil {
		return artifacts.List{}, nil, err
	}
	fmt.Fprintf(ports.Log, "Running %s to list the artifacts that %s nodes need for Kubernetes %s\n", playbook, kinds(nodes), in.Request.KubernetesVersion)
	if err := run(ctx, in, ports, playbook); err != nil {
		return artifacts.List{}, nil, err
	}
	list, pins, err := collect(in, system, nodes, ports.Log)
	if err != nil {
		return artifacts.List{}, nil, task.Because(contract.ReasonPlaybookFailed, err)
	}
	fmt.Fprintf(ports.Log, "%d images, %d files, %s\n", len(list.Images), len(list.Files), packagesOf(system, list))
	return list, pins, nil
}

func packagesOf(system System, list artifacts.List) string {
	if system.Name == "" {
		return "no OS packages, since spec.operatingSystem is not set"
	}
	return fmt.Sprintf("%d packages of %s", len(list.Packages), system.Name)
}

func kinds(nodes []standIn) string {
	var names []string
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	return strings.Join(names, ", ")
}

// prepare writes an inventory with the stand-ins as its hosts. It returns the path of the playbook
// to run.
func prepare(in ListInput, system System, nodes []standIn) (string, error) {
	rendered, err := render(in.Request, nodes)
	if err != nil {
		return "", task.Because(contract.ReasonInvalidRequest, err)
	}
	extra, err := json.Marshal(map[string]string{
		"artifacts_dir": in.lists(), "ansible_connection": "local", "ansible_python_interpreter": "{{ ansible_playbook_python }}", "ansible_become": "false",
	})
	if err != nil {
		return "", err
	}
	checksums, err := json.Marshal(inventory.ListingVars(in.Request))
	if err != nil {
		return "", err
	}
	files := map[string][]byte{
		"inventory/hosts.ini": rendered.HostsINI, "inventory/group_vars/all/bpa.json": rendered.GroupVars,
		"inventory/group_vars/all/a-checksums.json": checksums, // Ansible reads this file before bpa.json, so the user's variables in bpa.json override it
		"extra-vars.json": extra, "kubespray.yml": kubesprayEntry, "lists/.keep": nil, "tmp/.keep": nil,
	}
	for _, n := range nodes {
		facts, err := n.facts(system)
		if err != nil {
			return "", err
		}
		files["inventory/host_vars/"+n.Name+".json"] = facts
	}
	for name, content := range files {
		path := filepath.Join(in.ScratchDir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, 0o600)); err != nil {
			return "", fmt.Errorf("prepare the list: %w", err)
		}
	}
	if own := filepath.Join(in.PlaybooksDir, entry); exists(own) {
		return own, nil
	}
	if !exists(filepath.Join(in.PlaybooksDir, "roles", "kubespray_defaults")) {
		return "", fmt.Errorf("folder %s has neither %s nor kubespray's roles: check the image of Task %s", in.PlaybooksDir, entry, contract.TaskSeedRegistry)
	}
	return filepath.Join(in.ScratchDir, "kubespray.yml"), nil
}

func (in ListInput) lists() string { return filepath.Join(in.ScratchDir, "lists") }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// run runs the playbook. It reads the events only to find the cause of a failure. It reports no
// progress, because the playbook takes only seconds.
func run(ctx context.Context, in ListInput, ports ListPorts, playbook string) error {
	var stderr bytes.Buffer
	out, events := io.Pipe()
	findings := &ansible.Findings{}
	read := make(chan struct{})
	go func() {
		defer close(read)
		_ = ansible.Read(out, findings.See) // the only error of this pipe is its end
	}()
	status, err := ports.Playbook(ctx, command(in, playbook), events, &stderr)
	events.Close()
	<-read
	switch cause, bad := findings.Cause(); {
	case err != nil:
		return task.Because(contract.ReasonInternal, fmt.Errorf("run ansible-playbook: %w", err))
	case ctx.Err() != nil:
		return fmt.Errorf("listing the artifacts was interrupted: %w", context.Cause(ctx))
	case bad:
		return &task.Error{Reason: contract.ReasonPlaybookFailed, Step: cause.Task, Err: errors.New(cause.Message)}
	case status != 0 || !findings.Ended():
		return task.Because(contract.ReasonPlaybookFailed, fmt.Errorf("ansible-playbook %s ended with exit status %d: %s", playbook, status, lastLine(stderr.String())))
	}
	return nil
}

// lastLine returns the last line of a text. It redacts the line, as is necessary for all output of
// Ansible.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return ansible.Redact(lines[len(lines)-1])
}

func command(in ListInput, playbook string) process.Command {
	at := func(name string) string { return filepath.Join(in.ScratchDir, name) }
	env := []string{
		"HOME=" + in.ScratchDir, "TMPDIR=" + at("tmp"), "PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "PYTHONDONTWRITEBYTECODE=1",
		"ANSIBLE_STDOUT_CALLBACK=ansible.posix.jsonl", "ANSIBLE_CALLBACKS_ENABLED=", "ANSIBLE_CACHE_PLUGIN_CONNECTION=" + at("facts"),
		"ANSIBLE_LOCAL_TEMP=" + at("tmp"), "ANSIBLE_REMOTE_TEMP=" + at("tmp"), "ANSIBLE_RETRY_FILES_ENABLED=False", "ANSIBLE_NOCOLOR=1",
	}
	if config := filepath.Join(in.PlaybooksDir, "ansible.cfg"); exists(config) {
		env = append(env, "ANSIBLE_CONFIG="+config)
	}
	for _, kept := range []string{"ANSIBLE_COLLECTIONS_PATH", "ANSIBLE_STRATEGY_PLUGINS", "LD_LIBRARY_PATH"} { // set by the image
		if value := os.Getenv(kept); value != "" {
			env = append(env, kept+"="+value)
		}
	}
	return process.Command{
		Dir:  in.PlaybooksDir,
		Args: []string{"ansible-playbook", "-i", at("inventory/hosts.ini"), "-e", "@" + at("extra-vars.json"), playbook},
		Env:  env,
	}
}

// collect merges the lists that the playbook has written. There is one list for each stand-in.
func collect(in ListInput, system System, nodes []standIn, log io.Writer) (artifacts.List, []Pin, error) {
	var lists []artifacts.List
	var pins []Pin
	var others []string
	for _, n := range nodes {
		text, err := os.ReadFile(filepath.Join(in.lists(), n.Name+".json"))
		if err != nil {
			return artifacts.List{}, nil, fmt.Errorf("the playbooks did not write a list for %s: %w", n.Name, err)
		}
		written, err := parse(text)
		if err != nil {
			return artifacts.List{}, nil, err
		}
		list, files, elsewhere, err := written.list(in.Request.DepotURL)
		if err != nil {
			return artifacts.List{}, nil, err
		}
		for i := range list.Packages {
			list.Packages[i].System, list.Packages[i].Architecture = system.Name, system.architecture(n.architecture)
		}
		files = slices.DeleteFunc(files, func(p Pin) bool { return slices.Contains(pins, p) }) // without files that are in pins already: masters and workers share many
		lists, pins, others = append(lists, list), append(pins, files...), append(others, elsewhere...)
	}
	slices.Sort(others)
	for _, url := range slices.Compact(others) {
		fmt.Fprintf(log, "Nodes fetch %s from outside the depot; this task does not check it.\n", url)
	}
	if in.Request.API.Moves() { // BPA's own static pod, which is in no list of the playbooks
		lists = append(lists, artifacts.List{Images: []artifacts.Image{{Ref: contract.KeepalivedImage}}})
	}
	merged, err := artifacts.Merge(lists...)
	return merged, pins, err
}
