package kubespray

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/akraino-icn/bpa/pkg/ansible"
	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/playbook"
	"github.com/akraino-icn/bpa/pkg/tasks/playbook/acceleration"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// count estimates the number of tasks in the playbook. It works in parallel, because reading
// kubespray's playbooks takes some time, and sends the number once.
func count(in Input) <-chan int {
	counted := make(chan int, 1)
	go func() { counted <- ansible.CountTasks(os.DirFS(in.PlaybooksDir), in.Playbook) }()
	return counted
}

// play runs the playbook, reads its events, and returns its recap. It calls report with the
// percentage and the step of the playbook. The channel counted delivers the estimated number of
// tasks in the playbook.
func play(ctx context.Context, in Input, f files, ports Ports, report func(percent int, step string), counted <-chan int) (string, error) {
	expected := expect(ctx, in, ports, <-counted)
	nodes := in.played()
	fmt.Fprintf(ports.Log, "\nRunning %s on %s, at most %d at a time%s\n", in.Playbook, some(nodes, "node"), playbook.Forks(nodes), in.accelerated())
	recap, started, err := playbook.Run{
		Task: contract.TaskKubespray, Name: in.Playbook, Command: command(in, f), Exec: ports.Playbook,
		Expected: expected.tasks, Log: ports.Log, Report: report, Accelerated: len(in.accelerations()) > 0,
	}.Do(ctx)
	if err != nil {
		if task.FailureOf(err).Accelerated {
			fmt.Fprintln(ports.Log, "\nAn acceleration can be the cause: if BPA makes another attempt, it runs without acceleration")
		}
		return "", err
	}
	expected.remember(ctx, ports, started)
	return recap, nil
}

func command(in Input, f files) process.Command {
	args := []string{
		"ansible-playbook", "-b", "-i", f.Inventory, "--private-key", f.Key, "--forks", strconv.Itoa(playbook.Forks(in.played())),
		"-e", "@" + f.ExtraVars,
	}
	if len(in.limit) > 0 {
		args = append(args, "--limit", strings.Join(in.limit, ","))
	}
	if in.tags != "" {
		args = append(args, "--tags", in.tags)
	}
	return process.Command{Dir: in.PlaybooksDir, Args: append(args, in.Playbook), Env: f.Env(in.PlaybooksDir)}
}

// accelerations returns the accelerations of the playbook that are on.
func (in Input) accelerations() []string {
	if in.Request.Unaccelerated != "" {
		return nil
	}
	return acceleration.On(in.Request.SwitchedOff)
}

// accelerated names the accelerations of the playbook that are on, for the log.
func (in Input) accelerated() string {
	if on := in.accelerations(); len(on) > 0 {
		return ", accelerated by " + strings.Join(on, ", ")
	}
	return ", without acceleration" + in.unaccelerated()
}

// played returns the number of nodes on which the playbook runs.
func (in Input) played() int {
	if len(in.limit) > 0 {
		return len(in.limit)
	}
	return len(in.Nodes)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
