//go:build integration

package config

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// systemd itself reads the unit. It also reports a setting that it does not know.
func TestSystemdAcceptsTheUnit(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Fatal(err)
	}
	l := layout.Layout{Root: filepath.Join(t.TempDir(), "a folder")}
	if err := os.MkdirAll(l.BinDir(), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.Bin("machine"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	unit := filepath.Join(t.TempDir(), "bpa-machine.service")
	if err := os.WriteFile(unit, []byte(Unit(l)), 0o644); err != nil {
		t.Fatal(err)
	}
	// Units of this machine that the unit needs can have errors of their own, so only those that name this unit count.
	out, err := exec.Command(analyze, "verify", "--man=no", unit).CombinedOutput()
	if strings.Contains(string(out), "bpa-machine") || strings.Contains(string(out), unit) {
		t.Errorf("%v\n%s", err, out)
	}
	if err := os.WriteFile(unit, []byte(strings.Replace(Unit(l), "WatchdogSec=180", "WatchdogSecs=180", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, _ := exec.Command(analyze, "verify", "--man=no", unit).CombinedOutput(); !strings.Contains(string(out), "WatchdogSecs") {
		t.Errorf("systemd-analyze does not report a wrong setting: %s", out)
	}
}
