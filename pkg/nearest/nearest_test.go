package nearest

import (
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	names := []string{"multus", "ovn4nfv", "bootMode"}
	for name, want := range map[string]string{
		"mutlus": "multus", "BOOTMODE": "bootMode", "ovn4nfw": "ovn4nfv", "calico": "", "": "", strings.Repeat("m", longest+1): "",
	} {
		if got := Name(name, names); got != want {
			t.Errorf("Name(%.20q) = %q, want %q", name, got, want)
		}
	}
}
