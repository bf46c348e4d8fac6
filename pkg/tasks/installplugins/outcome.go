package installplugins

import (
	"fmt"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// summary returns the number of plugins in each state.
func (r *run) summary() string {
	count := map[contract.PluginState]int{}
	for _, row := range r.record.rows {
		count[row.State]++
	}
	var texts []string
	add := func(n int, word string) {
		if n > 0 {
			texts = append(texts, fmt.Sprintf("%d %s", n, word))
		}
	}
	add(count[contract.PluginInstalled], "installed")
	add(count[contract.PluginSkipped], "skipped")
	add(count[contract.PluginFailed], "failed")
	add(r.removed, "removed")
	if len(texts) == 0 {
		return "no plugins"
	}
	return strings.Join(texts, ", ")
}

// longestFailure is the length of the message of a failure, in bytes, that task.FailureOf does not cut.
const longestFailure = contract.MaxText - 320

// failure returns the error of the task; nil if no plugin has failed. It names all plugins that have failed,
// and as much of each cause as fits.
func failure(rows []contract.PluginStatus) error {
	var failed []contract.PluginStatus
	var names []string
	for _, row := range rows {
		if row.State == contract.PluginFailed {
			failed, names = append(failed, row), append(names, row.Name)
		}
	}
	if len(failed) == 0 {
		return nil
	}
	if len(failed) == 1 {
		return &task.Error{Reason: contract.ReasonPluginFailed, Step: "plugin " + names[0],
			Err: fmt.Errorf("plugin %s: %s", names[0], task.Cut(failed[0].Message, longestFailure))}
	}
	message := task.Cut(fmt.Sprintf("%d of %d plugins failed: %s", len(failed), len(rows), strings.Join(names, ", ")), longestFailure)
	each := (longestFailure - len(message)) / len(failed)
	for _, row := range failed {
		if room := each - len(row.Name) - len(". : "); room > 40 {
			message += fmt.Sprintf(". %s: %s", row.Name, task.Cut(row.Message, room))
		}
	}
	return &task.Error{Reason: contract.ReasonPluginFailed, Err: fmt.Errorf("%s", message)}
}
