package assign

import (
	"unicode"
	"unicode/utf8"
)

// matches reports whether a pattern matches the whole text, ignoring case. * stands for any
// characters, ? for one character. An empty pattern matches everything. An empty text is an unknown
// fact, which no other pattern matches, not even *. The number of steps is at most the product of
// both lengths, and nothing is allocated.
func matches(pattern, text string) bool {
	if pattern == "" || text == "" {
		return pattern == ""
	}
	p, t := 0, 0
	star, again := -1, 0 // position after the last *, and the position in the text of the next retry
	for t < len(text) {
		r, size := utf8.DecodeRuneInString(text[t:])
		switch next, width := utf8.DecodeRuneInString(pattern[p:]); {
		case next == '*' && width > 0:
			if p++; p == len(pattern) {
				return true
			}
			star, again = p, t
		case width > 0 && (next == '?' || fold(next) == fold(r)):
			p, t = p+width, t+size
		case star >= 0:
			_, skipped := utf8.DecodeRuneInString(text[again:])
			again += skipped
			p, t = star, again
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// fold returns the lower case form of a rune.
func fold(r rune) rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	return unicode.ToLower(r)
}
