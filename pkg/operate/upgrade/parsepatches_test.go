package upgrade

import (
	"fmt"
	"testing"
)

// Unprintable text does not reach the log.
func TestParsePatches(t *testing.T) {
	p := parsePatches([]byte("package a:amd64 1 2\npackage b - 1\x1b[1m\nreboot /run/reboot-required\nreboot /boot/vmlinuz-6.1\nnoise\npackage x\nboot id-1\n"))
	want := patches{packages: []string{"a:amd64 1 -> 2", "b - -> 1?[1m"}, reboot: []string{"/run/reboot-required", "/boot/vmlinuz-6.1"}, boot: "id-1"}
	if got := fmt.Sprintf("%+v", p); got != fmt.Sprintf("%+v", want) {
		t.Errorf("%s, want %+v", got, want)
	}
}
