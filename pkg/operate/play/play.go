package play

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/akraino-icn/bpa/pkg/ansible"
	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/playbook"
	"github.com/akraino-icn/bpa/pkg/tasks/playbook/acceleration"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// CountTasks estimates the number of tasks in the playbook of the input. It works in parallel, because reading
// kubespray's playbooks takes some time, and sends the number once.
func CountTasks(in session.Input) <-chan int {
	counted := make(chan int, 1)
	go func() { counted <- ansible.CountTasks(os.DirFS(in.PlaybooksDir), in.Playbook) }()
	return counted
}

// Run runs the playbook of the input with the files of Prepare, reads its events, and returns its recap. It calls
// report with the percentage, 0 to 100, and the step of the playbook. The channel counted is that of CountTasks. An
// error has its failure reason (task.FailureOf).
func Run(ctx context.Context, in session.Input, f Files, ports session.Ports, report func(percent int, step string), counted <-chan int) (string, error) {
	expected := expect(ctx, in, ports, <-counted)
	nodes := played(in)
	fmt.Fprintf(ports.Log, "\nRunning %s on %s, at most %d at a time%s\n", in.Playbook, session.Count(nodes, "node"), playbook.Forks(nodes), accelerated(in))
	recap, started, err := playbook.Run{
		Task: contract.TaskKubespray, Name: in.Playbook, Command: Command(in, f), Exec: ports.Playbook,
		Expected: expected.tasks, Log: ports.Log, Report: report, Accelerated: len(accelerations(in)) > 0,
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

// Command returns the command that runs the playbook of the input with these files.
func Command(in session.Input, f Files) process.Command {
	args := []string{
		"ansible-playbook", "-b", "-i", f.Inventory, "--private-key", f.Key, "--forks", strconv.Itoa(playbook.Forks(played(in))),
		"-e", "@" + f.ExtraVars,
	}
	if len(in.Limit) > 0 {
		args = append(args, "--limit", strings.Join(in.Limit, ","))
	}
	if in.Tags != "" {
		args = append(args, "--tags", in.Tags)
	}
	return process.Command{Dir: in.PlaybooksDir, Args: append(args, in.Playbook), Env: f.Env(in.PlaybooksDir)}
}

// accelerations returns the accelerations of the playbook that are on.
func accelerations(in session.Input) []string {
	if in.Request.Unaccelerated != "" {
		return nil
	}
	return acceleration.On(in.Request.SwitchedOff)
}

// accelerated names the accelerations of the playbook that are on, for the log.
func accelerated(in session.Input) string {
	if on := accelerations(in); len(on) > 0 {
		return ", accelerated by " + strings.Join(on, ", ")
	}
	return ", without acceleration" + in.Unaccelerated()
}

// played returns the number of nodes on which the playbook runs.
func played(in session.Input) int {
	if len(in.Limit) > 0 {
		return len(in.Limit)
	}
	return len(in.Nodes)
}

// Exists reports whether there is a file or a folder at the path.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
