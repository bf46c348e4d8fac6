package assign

import (
	"unicode"
	"unicode/utf8"
)

// matches reports whether a pattern matches the whole of a text, upper or lower case: * stands for any characters, ? for one. An empty pattern
// asks for nothing; otherwise an empty text, a fact that is not known, matches nothing, not even *. It takes at most as many steps as the
// product of both lengths, and allocates nothing.
func matches(pattern, text string) bool {
	if pattern == "" || text == "" {
		return pattern == ""
	}
	p, t := 0, 0
	star, again := -1, 0 // behind the last * of the pattern, and where in the text to try next what follows it
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

func fold(r rune) rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	return unicode.ToLower(r)
}
