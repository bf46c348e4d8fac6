package kubespray

import (
	"fmt"
	"strings"
)

// nodeJSON returns a Node as kubectl prints it. status is that of its condition Ready: "True", "False" or "Unknown".
func nodeJSON(name, status, reason string) string {
	return fmt.Sprintf(`{"kind":"Node","metadata":{"name":%q},"status":{"conditions":[{"type":"Ready","status":%q,"reason":%q,"message":"so it is"}]}}`, name, status, reason)
}

// podJSON returns a pod on a node as kubectl prints it. ready is the status of its condition Ready, and waiting is the
// reason why its container waits.
func podJSON(name, node, ready, waiting string) string {
	return fmt.Sprintf(`{"kind":"Pod","metadata":{"name":%q},"spec":{"nodeName":%q},"status":{"phase":"Running","conditions":[{"type":"Ready","status":%q,"reason":"ContainersNotReady"}],
"containerStatuses":[{"state":{"waiting":{"reason":%q,"message":"again and again"}}}]}}`, name, node, ready, waiting)
}

// list returns a list of objects as kubectl prints it.
func list(items ...string) string {
	return `{"kind":"List","items":[` + strings.Join(items, ",") + `]}`
}
