package ansible

import (
	"encoding/json"
	"fmt"
	"strings"
)

const (
	// maxMessage is the maximum length of a failure's message in bytes. If the message quotes a
	// command's output, it contains only the end of the output. maxTail is the maximum length of
	// this end in bytes.
	maxMessage = 1500
	maxTail    = 450
)

// rawResult holds the fields of a host's result that may be shown. The other fields (invocation,
// cmd, stdout of successful tasks) can hold secrets.
type rawResult struct {
	Action   string      `json:"action"` // the module's name
	Status   int         `json:"status_code"`
	Response text        `json:"response"` // answer of the server, for get_url
	Changed  bool        `json:"changed"`
	Failed   bool        `json:"failed"`
	Attempts int         `json:"attempts"`
	Censored string      `json:"censored"` // set for a task with no_log
	Msg      text        `json:"msg"`
	Stderr   text        `json:"stderr"`
	Stdout   text        `json:"stdout"`
	ModErr   text        `json:"module_stderr"`
	ModOut   text        `json:"module_stdout"`
	Label    text        `json:"_ansible_item_label"`
	Results  []rawResult `json:"results"` // items of a loop
}

// text is a string made from JSON of different types, because modules use different types for the
// same field. The strings of a list are joined by "; ". JSON that is neither a string nor a list of
// strings is kept as it is.
type text string

func (t *text) UnmarshalJSON(raw []byte) error {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		*t = text(s)
		return nil
	}
	var many []string
	if json.Unmarshal(raw, &many) == nil {
		*t = text(strings.Join(many, "; "))
		return nil
	}
	*t = text(raw)
	return nil
}

// UnmarshalJSON accepts results whose fields have unexpected types. It leaves such a field empty,
// so that the rest of the event is still used.
func (r *rawResult) UnmarshalJSON(raw []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil
	}
	into := map[string]any{
		"action": &r.Action, "status_code": &r.Status, "response": &r.Response, "changed": &r.Changed, "failed": &r.Failed, "attempts": &r.Attempts, "censored": &r.Censored, "msg": &r.Msg,
		"stderr": &r.Stderr, "stdout": &r.Stdout, "module_stderr": &r.ModErr, "module_stdout": &r.ModOut,
		"_ansible_item_label": &r.Label, "results": &r.Results,
	}
	for name, field := range into {
		if value, ok := fields[name]; ok {
			_ = json.Unmarshal(value, field)
		}
	}
	return nil
}

// message returns the redacted reason why a task failed on a host.
func (r rawResult) message() string {
	return head(Redact(r.why()), maxMessage)
}

func (r rawResult) why() string {
	if r.Censored != "" {
		return "the playbook hides this task's output (no_log)"
	}
	var bad []rawResult
	for _, item := range r.Results {
		if item.Failed {
			bad = append(bad, item)
		}
	}
	if len(bad) > 0 {
		why := fmt.Sprintf("item %s: %s", head(Redact(string(bad[0].Label)), 120), bad[0].why())
		if len(bad) > 1 {
			why = fmt.Sprintf("%d of %d items, first %s", len(bad), len(r.Results), why)
		}
		return why
	}
	msg := strings.TrimSpace(string(r.Msg))
	if r.Response != "" && msg == "Request failed" {
		return msg + ": " + string(r.Response)
	}
	if msg != "" && !vague(msg) {
		return msg
	}
	for _, output := range []text{r.Stderr, r.ModErr, r.Stdout, r.ModOut} {
		if said := tail(Redact(string(output)), maxTail); said != "" {
			return strings.TrimPrefix(msg+": "+said, ": ")
		}
	}
	if msg == "" {
		return "no message"
	}
	return msg
}

// vague reports whether a message says only that something failed. The reason is then taken from
// the output of the command.
func vague(msg string) bool {
	for _, prefix := range []string{"non-zero return code", "MODULE FAILURE", "The module failed to execute", "Command failed", "One or more items failed"} {
		if strings.HasPrefix(msg, prefix) {
			return true
		}
	}
	return false
}

// head returns the first max bytes of a string, or a few bytes fewer so that it does not cut inside
// a character.
func head(s string, max int) string {
	if len(s) <= max {
		return s
	}
	return strings.ToValidUTF8(s[:max], "") + "..."
}

// tail returns the last max bytes of a string. If a line starts in them, the result starts with
// that line. It does not cut inside a character.
func tail(s string, max int) string {
	s = strings.TrimSpace(s)
	if len(s) <= max {
		return s
	}
	s = s[len(s)-max:]
	if _, lines, ok := strings.Cut(s, "\n"); ok && strings.TrimSpace(lines) != "" {
		s = lines
	}
	return "..." + strings.ToValidUTF8(strings.TrimSpace(s), "")
}
