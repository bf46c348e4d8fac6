package kubespray

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/akraino-icn/bpa/pkg/ansible"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// some returns a number with its noun: "1 node", "3 nodes".
func some(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// whose describes the owner of a cluster on a machine.
func whose(user contract.User) string {
	switch {
	case user == contract.User{}:
		return "the machine does not say whose it is"
	case kubernetesName.MatchString(user.Name) && kubernetesName.MatchString(user.Namespace):
		return fmt.Sprintf("it belongs to Provisioning %s/%s", user.Namespace, user.Name)
	}
	return "it belongs to " + printable(user.String())
}

// few joins the first items of a report, which come from a machine, for a message.
func few(items []string) string {
	const most = 2
	text := strings.Join(items[:min(len(items), most)], ", ")
	if over := len(items) - most; over > 0 {
		text += fmt.Sprintf(" and %d more", over)
	}
	return printable(text)
}

// printable returns text from a machine without control characters, and not longer than 200 bytes.
func printable(text string) string { return task.Printable(text, 200) }

// redacted returns the lines of a program's output without secrets, such as passwords in URLs.
func redacted(text string) (all []string) {
	var redact ansible.Lines
	for line := range strings.Lines(text) {
		if line, show := redact.Redact(strings.TrimRight(line, "\r\n\t ")); show && line != "" {
			all = append(all, printable(line))
		}
	}
	return all
}

// lastLines returns the last lines of an output for a message.
func lastLines(lines []string) string {
	const most = 350 // bytes
	from, size := len(lines), 0
	for from > 0 && size+len(lines[from-1]) <= most {
		from--
		size += len(lines[from])
	}
	return strings.Join(lines[from:], "; ")
}

// stopped returns the cause if the context has ended, and nil if not.
func stopped(ctx context.Context, what string) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("%s was interrupted: %w", what, errors.Join(ctx.Err(), context.Cause(ctx)))
}

// kubernetesName matches names that Kubernetes accepts for a node and for most other objects. Such a name has no
// special characters for a shell.
var kubernetesName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)
