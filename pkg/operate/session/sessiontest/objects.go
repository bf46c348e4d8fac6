package sessiontest

import (
	"fmt"
	"strings"
)

// NodeJSON returns a Node as kubectl prints it. status is that of its condition Ready: "True", "False" or "Unknown".
func NodeJSON(name, status, reason string) string {
	return fmt.Sprintf(`{"kind":"Node","metadata":{"name":%q},"status":{"conditions":[{"type":"Ready","status":%q,"reason":%q,"message":"so it is"}]}}`, name, status, reason)
}

// PodJSON returns a pod on a node as kubectl prints it. ready is the status of its condition Ready, and waiting is the
// reason why its container waits.
func PodJSON(name, node, ready, waiting string) string {
	return fmt.Sprintf(`{"kind":"Pod","metadata":{"name":%q},"spec":{"nodeName":%q},"status":{"phase":"Running","conditions":[{"type":"Ready","status":%q,"reason":"ContainersNotReady"}],
"containerStatuses":[{"state":{"waiting":{"reason":%q,"message":"again and again"}}}]}}`, name, node, ready, waiting)
}

// List returns a list of objects as kubectl prints it.
func List(items ...string) string {
	return `{"kind":"List","items":[` + strings.Join(items, ",") + `]}`
}
