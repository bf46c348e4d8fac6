package cluster

import (
	"strings"
	"unicode"
)

// Brief returns one line of at most this many bytes, without control characters. The result does not
// keep a longer text in memory.
func Brief(text string, most int) string {
	long := len(text) > most
	if long {
		text = text[:most-len("...")]
	}
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	if long {
		text += "..."
	}
	return strings.Clone(text)
}
