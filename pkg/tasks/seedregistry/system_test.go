package seedregistry

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSystemOf(t *testing.T) {
	for name, want := range map[string]System{
		"":                   {},
		"debian-12":          {Name: "debian-12", Family: "Debian", Distribution: "Debian", Version: "12", Major: "12"},
		"ubuntu-24.04":       {Name: "ubuntu-24.04", Family: "Debian", Distribution: "Ubuntu", Version: "24.04", Major: "24"},
		"rocky-9.5":          {Name: "rocky-9.5", Family: "RedHat", Distribution: "Rocky", Version: "9.5", Major: "9"},
		"opensuse-leap-15.6": {Name: "opensuse-leap-15.6", Family: "Suse", Distribution: "openSUSE Leap", Version: "15.6", Major: "15"},
		"openEuler-24.03":    {Name: "openEuler-24.03", Family: "RedHat", Distribution: "openEuler", Version: "24.03", Major: "24"},
	} {
		got, err := SystemOf(name)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", name, err, diff)
		}
	}
	for _, bad := range []string{"beos-5", "debian", "12", "-12", "debian-", "debian-12-1"} {
		if got, err := SystemOf(bad); err == nil {
			t.Errorf("%q is %+v", bad, got)
		}
	}
}

func TestArchitecturesInTheSystemsWords(t *testing.T) {
	debian, rocky := System{Family: "Debian"}, System{Family: "RedHat"}
	for machine, want := range map[string][2]string{"x86_64": {"amd64", "x86_64"}, "aarch64": {"arm64", "aarch64"}, "riscv64": {"riscv64", "riscv64"}} {
		if got := [2]string{debian.architecture(machine), rocky.architecture(machine)}; got != want {
			t.Errorf("%s: %v, want %v", machine, got, want)
		}
	}
}
