package plan

import "github.com/akraino-icn/bpa/pkg/change"

// derived is what follows from the facts of a Seen. Many rules and conditions ask for it, so that it is computed once
// for each visit, when it is first needed. A copy of Seen with other facts gets another one: see Fix.
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

// Fix makes Seen remember what follows from its facts, and forget what followed from earlier ones. From now on, its
// facts must not change, unless Fix is called again. Readers must not change what they get.
func (s *Seen) Fix() { s.derived = &derived{} }

// fixed returns s after Fix. If the caller has not called Fix, the copy of the caller stays as it is.
func (s Seen) fixed() Seen {
	if s.derived == nil {
		s.Fix()
	}
	return s
}

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
