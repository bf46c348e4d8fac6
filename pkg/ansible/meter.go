package ansible

// Meter estimates the progress of a playbook from the number of started tasks. The percentage never
// decreases and stays below 100.
type Meter struct {
	expected int
	started  int
	seen     map[string]bool // IDs of tasks in plays where each host proceeds independently
	percent  int
	step     string
}

// NewMeter returns a Meter for the expected number of started tasks. A number of 0 or less means
// that the number is not known.
func NewMeter(expected int) *Meter {
	return &Meter{expected: expected, seen: map[string]bool{}}
}

// See records an event and reports whether the progress changed.
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

// unknownTasks is used if the expected number of tasks is not known. After this many started tasks,
// the estimate is half of the range. It then grows more and more slowly, and never reaches the end
// of the range.
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

// Percent returns the progress, 0 to 99.
func (m *Meter) Percent() int { return m.percent }

// Step returns the name of the task that started last.
func (m *Meter) Step() string { return m.step }

// Started returns the number of tasks that have started. The next run of the same playbook can use
// it as the expected number.
func (m *Meter) Started() int { return m.started }
