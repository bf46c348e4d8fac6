package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"

	"github.com/akraino-icn/bpa/bootstrap/internal/disk"
)

// Systemd manages the unit that starts the machine. Its functions do nothing on a machine where systemd does not run,
// such as in a container.
type Systemd struct {
	Runtime string // folder that exists if systemd runs
	File    string // path of the unit
	Unit    string // name of the unit
}

// MachineUnit is the unit of the bootstrap machine.
var MachineUnit = Systemd{Runtime: "/run/systemd/system", File: "/etc/systemd/system/bpa-machine.service", Unit: "bpa-machine.service"}

// Runs reports whether systemd manages this machine.
func (s Systemd) Runs() bool { return exists(s.Runtime) }

// Exists reports whether there is a unit of this name.
func (s Systemd) Exists() bool { return exists(s.File) }

// Install writes the unit, so that systemd starts it after a reboot, and reports whether it has changed. It does not
// start the unit.
func (s Systemd) Install(ctx context.Context, text string) (changed bool, err error) {
	if !s.Runs() {
		return false, nil
	}
	if have, err := os.ReadFile(s.File); err == nil && bytes.Equal(have, []byte(text)) {
		return false, nil
	}
	if err := disk.WriteFile(s.File, []byte(text), 0o644); err != nil {
		return false, err
	}
	if err := systemctl(ctx, "daemon-reload"); err != nil {
		return false, err
	}
	return true, systemctl(ctx, "enable", s.Unit)
}

// Has reports whether systemd runs and has this unit with this line.
func (s Systemd) Has(line string) bool {
	have, err := os.ReadFile(s.File)
	return err == nil && s.Runs() && strings.Contains(string(have), line+"\n")
}

// Start starts the unit, and returns when it has reported that it is ready.
func (s Systemd) Start(ctx context.Context) error { return systemctl(ctx, "start", s.Unit) }

// Active reports whether systemd runs the unit, also while it starts it again.
func (s Systemd) Active(ctx context.Context) bool {
	if !s.Runs() {
		return false
	}
	out, _ := exec.CommandContext(ctx, "systemctl", "show", "--property=ActiveState", "--value", s.Unit).Output()
	state := strings.TrimSpace(string(out))
	return state == "active" || state == "activating" || state == "deactivating"
}

// Stop stops the unit. It starts again after a reboot.
func (s Systemd) Stop(ctx context.Context) error { return systemctl(ctx, "stop", s.Unit) }

// Remove removes the unit.
func (s Systemd) Remove(ctx context.Context) error {
	if !s.Runs() || !exists(s.File) {
		return nil
	}
	if err := systemctl(ctx, "disable", s.Unit); err != nil {
		return err
	}
	if err := os.Remove(s.File); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return systemctl(ctx, "daemon-reload")
}

// systemctl has no time limit of its own: systemd has one for each step of a unit.
func systemctl(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, "systemctl", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("systemctl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
