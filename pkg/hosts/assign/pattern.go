package assign

import (
	"unicode"
	"unicode/utf8"
)

// matches reports whether a pattern matches the whole string, without regard to case. * stands for
// any characters, ? for one character. An empty pattern matches everything. An empty string is an
// unknown fact: only an empty pattern matches it, and not even * does. The number of steps is at
// most the product of both lengths, and no memory is allocated.
func matches(pattern, text string) bool {
	if pattern == "" || text == "" {
		return pattern == ""
	}
	p, t := 0, 0
	star, again := -1, 0 // position in the pattern after the last *, and position in text at which the next try begins
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
