package session

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

// Count returns a number with its noun: "1 node", "3 nodes".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// DescribeOwner describes the owner of a cluster on a machine.
func DescribeOwner(user contract.User) string {
	switch {
	case user == contract.User{}:
		return "the machine does not say whose it is"
	case KubernetesName.MatchString(user.Name) && KubernetesName.MatchString(user.Namespace):
		return fmt.Sprintf("it belongs to Provisioning %s/%s", user.Namespace, user.Name)
	}
	return "it belongs to " + Printable(user.String())
}

// FirstItems joins the first items of a report, which come from a machine, for a message.
func FirstItems(items []string) string {
	const most = 2
	text := strings.Join(items[:min(len(items), most)], ", ")
	if over := len(items) - most; over > 0 {
		text += fmt.Sprintf(" and %d more", over)
	}
	return Printable(text)
}

// Printable returns text from a machine without control characters, and not longer than 200 bytes.
func Printable(text string) string { return task.Printable(text, 200) }

// Redacted returns the lines of a program's output without secrets, such as passwords in URLs.
func Redacted(text string) (all []string) {
	var redact ansible.Lines
	for line := range strings.Lines(text) {
		if line, show := redact.Redact(strings.TrimRight(line, "\r\n\t ")); show && line != "" {
			all = append(all, Printable(line))
		}
	}
	return all
}

// LastLines returns the last lines of an output for a message.
func LastLines(lines []string) string {
	const most = 350 // bytes
	from, size := len(lines), 0
	for from > 0 && size+len(lines[from-1]) <= most {
		from--
		size += len(lines[from])
	}
	return strings.Join(lines[from:], "; ")
}

// Stopped returns the cause if the context has ended, and nil if not.
func Stopped(ctx context.Context, what string) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("%s was interrupted: %w", what, errors.Join(ctx.Err(), context.Cause(ctx)))
}

// KubernetesName matches names that Kubernetes accepts for a node and for most other objects. Such a name has no
// special characters for a shell.
var KubernetesName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)
