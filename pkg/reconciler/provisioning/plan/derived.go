package plan

import "github.com/akraino-icn/bpa/pkg/change"

// derived is what follows from the facts of a Seen. Many rules and conditions ask for it, so that it is computed once
// for each decision, when it is first needed. A copy of Seen with other facts gets another one: see forget.
type derived struct {
	losses    once[[]Loss]
	state     once[change.State]
	next      once[nextStep]
	refused   once[[]change.Refusal]
	upgrading once[*change.Progress]
}

// nextStep is the result of change.Next.
type nextStep struct {
	step    change.Step
	changes bool
}

type once[T any] struct {
	value T
	known bool
}

// forget makes Seen forget what it has derived from its facts. From now on, its facts must not change, unless forget
// is called again. Readers must not change what they get.
func (s *Seen) forget() { s.derived = &derived{} }

// derive returns what compute returns. It computes it only once if the facts of s do not change any more.
func derive[T any](s Seen, of func(*derived) *once[T], compute func() T) T {
	if s.derived == nil {
		return compute()
	}
	o := of(s.derived)
	if !o.known {
		o.value, o.known = compute(), true
	}
	return o.value
}
