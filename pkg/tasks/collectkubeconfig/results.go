package collectkubeconfig

import "encoding/json"

// maxMessage is Kubernetes' limit for a container's termination message, in which Tekton returns the results of a task.
const maxMessage = 4096

// messageSize is how many bytes Tekton needs for results: a JSON list of them with when the step started.
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
		return maxMessage + 1 // cannot be: strings only
	}
	return len(message)
}
