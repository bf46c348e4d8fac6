package collectkubeconfig

import "encoding/json"

// maxMessage is Kubernetes' limit in bytes for a container's termination message. Tekton returns
// all results of a task in this message.
const maxMessage = 4096

// messageSize returns the size of the message in which Tekton returns the results, in bytes. Tekton
// writes a JSON list with the results and the start time of the step.
func messageSize(results map[string]string) int {
	type entry struct {
		Key   string `json:"key"`
		Value string `json:"value"`
		Type  int    `json:"type"`
	}
	entries := []entry{{"StartedAt", "2006-01-02T15:04:05.000Z", 3}}
	for name, value := range results {
		entries = append(entries, entry{name, value, 1})
	}
	message, err := json.Marshal(entries)
	if err != nil {
		return maxMessage + 1 // cannot happen: strings only
	}
	return len(message)
}
