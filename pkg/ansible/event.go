package ansible

import (
	"encoding/json"
	"fmt"
	"time"
)

// Kind is the type of an event, with the name of Ansible's callback.
type Kind string

const (
	PlayStart    Kind = "v2_playbook_on_play_start"
	TaskStart    Kind = "v2_playbook_on_task_start"
	HandlerStart Kind = "v2_playbook_on_handler_task_start"
	// HostStart replaces TaskStart in plays with the strategy "free", in which each host proceeds
	// independently. It does not name the host.
	HostStart   Kind = "v2_runner_on_start"
	OK          Kind = "v2_runner_on_ok"
	Skipped     Kind = "v2_runner_on_skipped"
	Failed      Kind = "v2_runner_on_failed" // also when the playbook ignores or rescues the failure
	Unreachable Kind = "v2_runner_on_unreachable"
	Stats       Kind = "v2_playbook_on_stats"
	// Text is an output line that is not an event, such as a line that a plugin prints.
	Text Kind = "text"
)

// Event is one event of a playbook run. All strings in it have passed Redact.
type Event struct {
	Kind   Kind
	At     time.Time
	Play   string // set for PlayStart
	Task   string
	TaskID string
	Host   string // set for OK, Skipped, Failed and Unreachable
	// Changed and Attempts are set for OK and Failed. Attempts is 0 for a task that does not retry.
	Changed  bool
	Attempts int
	// Message is the failure reason (Failed, Unreachable) or the output line (Text).
	Message string
	// Trouble classifies a failure (Failed) that may not occur again in another attempt.
	Trouble Trouble
	Stats   map[string]HostStats
}

// HostStats holds the number of tasks of a host by result, as in the recap at the end of a
// playbook.
type HostStats struct {
	OK          int `json:"ok"`
	Changed     int `json:"changed"`
	Failures    int `json:"failures"`
	Unreachable int `json:"unreachable"`
	Skipped     int `json:"skipped"`
	Rescued     int `json:"rescued"`
	Ignored     int `json:"ignored"`
}

// Bad reports whether the host failed permanently. Ignored and rescued failures do not count.
func (s HostStats) Bad() bool { return s.Failures > 0 || s.Unreachable > 0 }

type rawEvent struct {
	Event     Kind      `json:"_event"`
	Timestamp time.Time `json:"_timestamp"`
	Play      struct {
		Name string `json:"name"`
	} `json:"play"`
	Task struct {
		Name string `json:"name"`
		ID   string `json:"id"`
	} `json:"task"`
	Hosts map[string]rawResult `json:"hosts"`
	Stats map[string]HostStats `json:"stats"`
}

// Parse parses one line of the callback's output. It ignores unknown fields.
func Parse(line []byte) (Event, error) {
	var raw rawEvent
	if err := json.Unmarshal(line, &raw); err != nil {
		return Event{}, fmt.Errorf("parse event: %w", err)
	}
	if raw.Event == "" {
		return Event{}, fmt.Errorf("parse event: no field _event")
	}
	e := Event{
		Kind:   raw.Event,
		At:     raw.Timestamp,
		Play:   Redact(raw.Play.Name),
		Task:   Redact(raw.Task.Name),
		TaskID: raw.Task.ID,
		Stats:  raw.Stats,
	}
	for host, result := range raw.Hosts { // at most one host
		e.Host, e.Changed, e.Attempts = host, result.Changed, result.Attempts
		if e.Kind == Failed || e.Kind == Unreachable {
			e.Message, e.Trouble = result.message(), result.trouble(result.Action)
		}
	}
	return e, nil
}
