package software

import (
	"cmp"
	"context"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/ansible"
	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/playbook"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

//go:embed look.yml apply.yml reboot.yml library/bpa_software.py
var playbooks embed.FS

const (
	playLook   = "look.yml"
	playApply  = "apply.yml"
	playReboot = "reboot.yml"
)

// Limits bounds the work on one node.
type Limits struct {
	// Look is how long all nodes together may take to say what they have, Lock how long a node waits for the
	// lock of its package manager, Script how long install.sh may take, Apply all changes of some nodes, and
	// Boot a reboot.
	Look, Lock, Script, Apply, Boot time.Duration
}

// DefaultLimits are the limits of the task install-software. Apply has room for one install.sh that takes its
// whole time.
var DefaultLimits = Limits{Look: 15 * time.Minute, Lock: 10 * time.Minute, Script: 30 * time.Minute, Apply: 45 * time.Minute, Boot: 15 * time.Minute}

// NewMachineLimits are the limits for machines that are about to become nodes: their installation waits.
var NewMachineLimits = Limits{Look: 5 * time.Minute, Lock: 5 * time.Minute, Script: 15 * time.Minute, Apply: 20 * time.Minute, Boot: 15 * time.Minute}

// Machines runs the playbooks on nodes.
type Machines struct {
	Task       string // the Tekton Task, for messages
	Request    contract.Request
	HostsINI   []byte
	GroupVars  []byte
	PrivateKey []byte
	// PlaybooksDir has kubespray's ansible.cfg. ScratchDir is the writable folder of package playbook.
	PlaybooksDir, ScratchDir string
	Pins                     ssh.Pins
	Exec                     playbook.Exec
	Log                      io.Writer
	Report                   func(step string)
	Limits                   Limits
	Root                     string // as in request; for tests
}

// trouble is why a node has no answer. later means that another attempt may get one: it does not answer by
// SSH, or its time was over, or the background job of an earlier run still works on it.
type trouble struct {
	later   bool
	message string
}

// busy is a part of the module's message if an earlier run still works on the node.
const busy = "another run still changes packages"

// ask runs a playbook of the module on some nodes, and returns the answers and the troubles by name. An error
// means that Ansible itself has failed.
func (m *Machines) ask(ctx context.Context, play string, requests map[string]request, nodes []contract.Node) (map[string]Seen, map[string]trouble, error) {
	answers := filepath.Join(m.ScratchDir, "software-answers")
	if err := os.RemoveAll(answers); err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(answers, 0o700); err != nil {
		return nil, nil, err
	}
	encoded, err := m.encode(requests)
	if err != nil {
		return nil, nil, err
	}
	limit := cmp.Or(m.Limits.Look, DefaultLimits.Look)
	if play == playApply {
		limit = cmp.Or(m.Limits.Apply, DefaultLimits.Apply)
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	troubles, failed := m.play(limited, play, nodes, map[string]any{
		"software_requests": encoded, "software_answers": answers, "software_seconds": seconds(m.Limits.Apply),
		// an absolute path: Ansible writes and reads the results of background jobs as different users
		"ansible_async_dir": cmp.Or(m.Root, "/root") + "/.ansible_async",
	})
	if ctx.Err() != nil {
		return nil, nil, fmt.Errorf("the work on the software was interrupted: %w", context.Cause(ctx))
	}
	seen := map[string]Seen{}
	for _, n := range nodes {
		raw, err := readAnswer(filepath.Join(answers, n.Name))
		if os.IsNotExist(err) {
			continue
		}
		s, err := decodeSeen(raw, err)
		if err != nil {
			troubles[n.Name] = trouble{message: err.Error()}
			continue
		}
		seen[n.Name] = s
	}
	silent := "it has not answered"
	switch {
	case limited.Err() != nil: // such as one node that has lost its power: the others do not wait for it for ever
		silent = fmt.Sprintf("it has not answered within %s", limit)
	case failed != nil && len(seen) == 0 && len(troubles) == 0:
		return nil, nil, failed
	case failed != nil:
		silent += ": " + shorten(failed.Error())
	}
	for _, n := range nodes {
		if _, ok := seen[n.Name]; ok {
			delete(troubles, n.Name)
		} else if _, ok := troubles[n.Name]; !ok {
			troubles[n.Name] = trouble{later: true, message: silent}
		}
	}
	return seen, troubles, nil
}

// encode completes the requests and returns them in base64, in which no text is a template of Ansible.
func (m *Machines) encode(requests map[string]request) (map[string]string, error) {
	encoded := map[string]string{}
	for name, r := range requests {
		if m.Request.DepotCA != "" {
			r.CA = contract.DepotCAPath
		}
		r.LockSeconds, r.ScriptSeconds, r.Root = seconds(m.Limits.Lock), seconds(m.Limits.Script), m.Root
		text, err := json.Marshal(r)
		if err != nil {
			return nil, err
		}
		encoded[name] = base64.StdEncoding.EncodeToString(text)
	}
	return encoded, nil
}

func seconds(d time.Duration) int { return int(d / time.Second) }

func readAnswer(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, mostAnswer))
}

func decodeSeen(raw []byte, err error) (Seen, error) {
	if err != nil {
		return Seen{}, err
	}
	text, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(raw)))
	if err != nil {
		return Seen{}, fmt.Errorf("the node's answer is not understood: %w", err)
	}
	return parseSeen(text)
}

// reboot lets nodes boot again, and returns the troubles of those that have not.
func (m *Machines) reboot(ctx context.Context, nodes []contract.Node) (map[string]trouble, error) {
	troubles, failed := m.play(ctx, playReboot, nodes, map[string]any{"software_seconds": seconds(m.Limits.Boot)})
	if ctx.Err() != nil {
		return nil, fmt.Errorf("the reboot was interrupted: %w", context.Cause(ctx))
	}
	if failed != nil && len(troubles) == 0 {
		return nil, failed
	}
	return troubles, nil
}

// play runs a playbook on some nodes. It returns the last failure of each node that failed.
func (m *Machines) play(ctx context.Context, name string, nodes []contract.Node, vars map[string]any) (map[string]trouble, error) {
	files, dir, err := m.prepare(nodes, vars)
	if err != nil {
		return nil, task.Because(contract.ReasonInternal, err)
	}
	troubles := map[string]trouble{}
	recap, _, err := playbook.Run{
		Task: m.Task, Name: name, Exec: watched(m.Exec, troubles), Log: m.Log, Command: m.command(files, dir, name, nodes),
		Expected: ansible.CountTasks(os.DirFS(dir), name), Report: func(_ int, step string) { m.Report(step) },
	}.Do(ctx)
	if err == nil {
		fmt.Fprintf(m.Log, "  %s\n", recap)
		return map[string]trouble{}, nil // what failed was tried again
	}
	return troubles, err
}

// watched returns an Exec that also records the failures of each node.
func watched(exec playbook.Exec, troubles map[string]trouble) playbook.Exec {
	return func(ctx context.Context, c process.Command, stdout, stderr io.Writer) (int, error) {
		out, in := io.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = ansible.Read(out, func(e ansible.Event) { // the only error of this pipe is its end
				if e.Kind == ansible.Failed || e.Kind == ansible.Unreachable {
					t := trouble{later: e.Kind == ansible.Unreachable || strings.Contains(e.Message, busy), message: shorten(e.Message)}
					if e.Kind == ansible.Unreachable {
						t.message = "it does not answer by SSH: " + cmp.Or(t.message, "no message")
					}
					troubles[e.Host] = t
				}
			})
		}()
		status, err := exec(ctx, c, io.MultiWriter(stdout, in), stderr)
		in.Close()
		<-done
		return status, err
	}
}

func (m *Machines) prepare(nodes []contract.Node, vars map[string]any) (playbook.Files, string, error) {
	files, dir := playbook.FilesIn(m.ScratchDir), filepath.Join(m.ScratchDir, "software")
	err := fs.WalkDir(playbooks, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := playbooks.ReadFile(path)
		if err != nil {
			return err
		}
		return playbook.Write(filepath.Join(dir, filepath.FromSlash(path)), content, 0o600)
	})
	if err != nil {
		return files, dir, err
	}
	var uids []string
	for _, n := range nodes {
		if !nodeName.MatchString(n.Name) {
			return files, dir, fmt.Errorf("%q is not the name of a node", n.Name)
		}
		uids = append(uids, n.HostUID)
	}
	vars["ansible_ssh_args"] = files.SSHArgs()
	extra, err := json.Marshal(vars)
	if err != nil {
		return files, dir, err
	}
	return files, dir, files.Write(playbook.Content{
		Inventory: m.HostsINI, GroupVars: m.GroupVars, PrivateKey: m.PrivateKey, KnownHosts: []byte(m.Pins.Only(uids...).String()), ExtraVars: extra,
	})
}

func (m *Machines) command(files playbook.Files, dir, name string, nodes []contract.Node) process.Command {
	var names []string
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	return process.Command{Dir: dir, Env: files.Env(m.PlaybooksDir), Args: []string{
		"ansible-playbook", "-b", "-i", files.Inventory, "--private-key", files.Key, "--forks", strconv.Itoa(playbook.Forks(len(nodes))),
		"-e", "@" + files.ExtraVars, "--limit", strings.Join(names, ","), name,
	}}
}
