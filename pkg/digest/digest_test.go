package digest

import (
	"strings"
	"testing"
)

func TestIsSHA256(t *testing.T) {
	sum := strings.Repeat("0123456789abcdef", 4)
	for text, want := range map[string]bool{
		sum:                        true,
		strings.Repeat("0", 64):    true,
		"":                         false,
		sum[1:]:                    false,
		sum + "0":                  false,
		strings.ToUpper(sum):       false,
		sum[:32] + "g" + sum[33:]:  false,
		"sha256:" + sum:            false,
		sum[:63] + "\n":            false,
		sum[:62] + "é":             false,
		strings.Repeat(" ", 64):    false,
		sum[:32] + "  " + sum[34:]: false,
	} {
		if got := IsSHA256(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
