package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// standIn puts a systemctl into PATH that records its arguments, because the real one needs systemd as process 1.
func standIn(t *testing.T) (s Systemd, calls func() []string) {
	dir := t.TempDir()
	journal := filepath.Join(dir, "calls")
	script := fmt.Sprintf("#!/bin/sh\necho \"$*\" >>%s\n[ \"$1\" != show ] || echo activating\n[ \"$1\" != start ] || { echo no such unit; exit 5; }\n", journal)
	if err := os.WriteFile(filepath.Join(dir, "systemctl"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	s = Systemd{Runtime: dir, File: filepath.Join(dir, "bpa-machine.service"), Unit: "bpa-machine.service"}
	return s, func() []string {
		text, _ := os.ReadFile(journal)
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
}

func TestUnitIsInstalledOnceAndRemoved(t *testing.T) {
	s, calls := standIn(t)
	for i, text := range []string{"[Unit]\na\n", "[Unit]\na\n", "[Unit]\nb\n"} {
		changed, err := s.Install(t.Context(), text)
		if err != nil || changed != (i != 1) || !s.Has(strings.Fields(text)[1]) || s.Has("c") {
			t.Errorf("install %d: changed %t, %v", i, changed, err)
		}
	}
	if !s.Active(t.Context()) {
		t.Error("a unit that starts again is not active")
	}
	for range 2 {
		if err := s.Remove(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if exists(s.File) {
		t.Error("the unit is still there")
	}
	want := []string{
		"daemon-reload", "enable bpa-machine.service", "daemon-reload", "enable bpa-machine.service",
		"show --property=ActiveState --value bpa-machine.service", "disable bpa-machine.service", "daemon-reload",
	}
	if diff := cmp.Diff(want, calls()); diff != "" {
		t.Errorf("systemctl (-want +got):\n%s", diff)
	}
	if err := s.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "systemctl start bpa-machine.service: exit status 5: no such unit") {
		t.Errorf("start: %v", err)
	}
}

func TestWithoutSystemdThereIsNoUnit(t *testing.T) {
	s, calls := standIn(t)
	s.Runtime = filepath.Join(t.TempDir(), "none")
	if changed, err := s.Install(t.Context(), "a"); changed || err != nil || exists(s.File) || s.Has("a") || s.Active(t.Context()) {
		t.Errorf("changed %t, %v", changed, err)
	}
	if err := s.Remove(t.Context()); err != nil {
		t.Error(err)
	}
	if got := calls(); got[0] != "" {
		t.Errorf("called systemctl %v", got)
	}
}
