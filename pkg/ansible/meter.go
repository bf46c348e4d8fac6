package ansible

// Meter says how far a playbook is, by counting the tasks that have started. What it says never goes back, and is below 100.
type Meter struct {
	expected int
	started  int
	seen     map[string]bool // tasks of plays where each host goes at its own pace
	percent  int
	step     string
}

// NewMeter takes the number of tasks that are expected to start; a number of 0 or less means that nobody knows.
func NewMeter(expected int) *Meter {
	return &Meter{expected: expected, seen: map[string]bool{}}
}

// See counts an event and reports whether anything changed.
func (m *Meter) See(e Event) bool {
	switch e.Kind {
	case HostStart:
		if m.seen[e.TaskID] {
			return false
		}
		m.seen[e.TaskID] = true
	case TaskStart, HandlerStart:
	default:
		return false
	}
	m.started++
	m.step = e.Task
	m.percent = max(m.percent, m.estimate())
	return true
}

// unknownTasks is about how many tasks a short playbook has; from there the estimate creeps towards the end without reaching it.
const unknownTasks = 100

func (m *Meter) estimate() int {
	if m.expected <= 0 {
		return 99 * m.started / (m.started + unknownTasks)
	}
	if late := m.started * 100 / m.expected; late < 95 {
		return late
	}
	over := max(0, m.started-m.expected*95/100)
	return 95 + 4*over/(over+m.expected/10+1)
}

// Percent is from 0 to 99.
func (m *Meter) Percent() int { return m.percent }

// Step is the name of the task that started last.
func (m *Meter) Step() string { return m.step }

// Started is how many tasks have started: what to expect of the same playbook next time.
func (m *Meter) Started() int { return m.started }
