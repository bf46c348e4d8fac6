package play

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/akraino-icn/bpa/pkg/operate/session"
)

// keyTasks is a key in the Store Ports.Progress. Its value is a JSON object, such as
// {"cluster.yml 1132": 1212}. The object maps each playbook to the number of tasks that the
// playbook started in its last successful run. A playbook is identified by its name and its
// estimated number of tasks, so that another playbook with the same name does not get the number.
const keyTasks = "tasks.json"

// expectation is the number of tasks that a playbook will probably start.
type expectation struct {
	known map[string]int
	key   string
	tasks int
}

// expect returns the number of tasks in the last successful run. If it is not known, it returns
// found, which is the estimate.
func expect(ctx context.Context, in session.Input, ports session.Ports, found int) expectation {
	e := expectation{known: counts(ctx, ports), key: strings.TrimSpace(fmt.Sprintf("%s %d %s", in.Playbook, found, in.Tags)), tasks: found}
	if last := e.known[e.key]; last > 0 {
		e.tasks = last
	}
	return e
}

// remember stores the number of tasks that were started. It ignores errors: without the number, the
// next run uses the estimate.
func (e expectation) remember(ctx context.Context, ports session.Ports, started int) {
	e.known[e.key] = started
	if text, err := json.Marshal(e.known); err == nil {
		_ = ports.Progress.Set(ctx, keyTasks, string(text))
	}
}

func counts(ctx context.Context, ports session.Ports) map[string]int {
	known := map[string]int{}
	if text, err := ports.Progress.Get(ctx, keyTasks); err == nil && text != "" {
		_ = json.Unmarshal([]byte(text), &known)
	}
	if known == nil {
		known = map[string]int{}
	}
	return known
}
