package assign

import "math/bits"

// set is a set of small non-negative integers, with one bit for each. Only sets of the same length
// can be combined.
type set []uint64

func newSet(n int) set { return make(set, (n+63)/64) }

func (s set) add(i int)      { s[i>>6] |= 1 << (i & 63) }
func (s set) remove(i int)   { s[i>>6] &^= 1 << (i & 63) }
func (s set) has(i int) bool { return s[i>>6]&(1<<(i&63)) != 0 }

// meets reports whether the sets have a common element.
func (s set) meets(t set) bool {
	for i := range s {
		if s[i]&t[i] != 0 {
			return true
		}
	}
	return false
}

func (s set) isEmpty() bool {
	for _, word := range s {
		if word != 0 {
			return false
		}
	}
	return true
}

// without yields the elements of s that are not in t, in ascending order. The caller may add
// elements to t during the iteration; they are then left out.
func (s set) without(t set) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for i := range s {
			for word := s[i] &^ t[i]; word != 0; word &= word - 1 {
				if n := i<<6 + bits.TrailingZeros64(word); !t.has(n) && !yield(n) {
					return
				}
			}
		}
	}
}

// table is a list of sets of equal length. Each set is a row.
type table struct {
	width int
	words []uint64
}

func newTable(rows, columns int) table {
	width := (columns + 63) / 64
	return table{width, make([]uint64, rows*width)}
}

func (t table) row(i int) set { return t.words[i*t.width : (i+1)*t.width] }
