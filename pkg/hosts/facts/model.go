package facts

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Model returns the PCI ids of a network card in the format of Metal3, vendor before device:
// "0x8086 0x1572". It also accepts upper case, ids without 0x, and a colon between the ids. It also
// accepts decimal ids, if one of them has more than four digits and can therefore not be
// hexadecimal. It returns any other string, such as a name, without leading and trailing space.
func Model(text string) string {
	if isModel(text) {
		return text
	}
	parts := strings.FieldsFunc(text, func(r rune) bool { return r == ':' || unicode.IsSpace(r) })
	if len(parts) != 2 {
		return strings.TrimSpace(text)
	}
	base := 16
	for _, part := range parts {
		if len(part) == 5 {
			base = 10
		}
	}
	vendor, ok := pciID(parts[0], base)
	device, okay := pciID(parts[1], base)
	if !ok || !okay {
		return strings.TrimSpace(text)
	}
	return fmt.Sprintf("0x%04x 0x%04x", vendor, device)
}

// isModel reports whether text already has the format of Model. Nearly all values that Metal3
// reports have it.
func isModel(text string) bool {
	const form = "0x8086 0x1572"
	if len(text) != len(form) {
		return false
	}
	for i := range len(form) {
		switch c := text[i]; {
		case i%7 < 2 || i == 6: // 0x, or the space
			if c != form[i] {
				return false
			}
		case (c < '0' || c > '9') && (c < 'a' || c > 'f'):
			return false
		}
	}
	return true
}

// pciID parses an id such as 0x8086. It parses an id without 0x in the given base, and rejects such
// an id if it has fewer than four digits.
func pciID(text string, base int) (uint64, bool) {
	digits, prefixed := strings.CutPrefix(strings.ToLower(text), "0x")
	switch {
	case prefixed:
		base = 16
	case len(digits) < 4:
		return 0, false
	}
	id, err := strconv.ParseUint(digits, base, 16)
	return id, err == nil
}
