package session

import (
	"strings"
	"testing"
)

func TestSystemOf(t *testing.T) {
	for text, want := range map[string]string{
		"PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nNAME='Debian'\nVERSION_ID=\"12\"\nID=debian\n": "debian-12",
		"ID=openEuler\nVERSION_ID=\"24.03\"":      "openeuler-24.03",
		"ID='opensuse-leap'\nVERSION_ID='15.6'":   "opensuse-leap-15.6",
		"ID=debian\n":                             "", // testing has no VERSION_ID
		"VERSION_ID=1":                            "",
		"ID=../x\nVERSION_ID=1":                   "",
		"ID=x\nVERSION_ID=1;reboot":               "",
		"ID=x\nVERSION_ID=$(reboot)":              "",
		"":                                        "",
		strings.Repeat("x", 70<<10) + "\nID=late": "",
	} {
		if got := systemOf([]byte(text)); got != want {
			t.Errorf("%.40q is %q, want %q", text, got, want)
		}
	}
}
