package osimage

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// System says what one root file system holds.
type System struct {
	Name     string
	Variant  string // of mmdebstrap: minbase, or extract (no scripts run, no hooks)
	Packages []string
	Setup    []string // shell commands run inside the finished root; not for extract
}

const suite = "bookworm"

// Key changes when the result may change. Packages follow the distribution's point releases only on a rebuild.
func (s System) Key() string {
	return strings.Join(append(append([]string{s.Name, s.Variant, suite}, s.Packages...), s.Setup...), "\n")
}

// Build writes the system as a plain tar file at out.
func (s System) Build(ctx context.Context, out string) error {
	args := []string{"--quiet", "--variant=" + s.Variant, "--architectures=amd64", "--include=" + strings.Join(s.Packages, ",")}
	for _, unread := range []string{"man", "doc", "locale", "info"} {
		args = append(args, "--dpkgopt=path-exclude=/usr/share/"+unread+"/*")
	}
	for _, command := range s.Setup {
		args = append(args, `--customize-hook=chroot "$1" sh -ec '`+strings.ReplaceAll(command, "'", `'\''`)+"'")
	}
	args = append(args, "--format=tar", suite, out+".new")
	defer os.Remove(out + ".new")
	cmd := exec.CommandContext(ctx, "mmdebstrap", args...)
	cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=1700000000") // the same packages make the same bytes
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("make root file system %s: %w; is the Debian mirror reachable? mmdebstrap said:\n%s", s.Name, err, tail(log.String(), 20))
	}
	return os.Rename(out+".new", out)
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	if len(all) > lines {
		all = all[len(all)-lines:]
	}
	return strings.Join(all, "\n")
}
