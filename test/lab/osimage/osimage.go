package osimage

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// System describes a root file system.
type System struct {
	Name     string
	Variant  string // variant of mmdebstrap: minbase or extract; extract runs no scripts and no hooks
	Packages []string
	Setup    []string // shell commands to run in the root file system; not with variant extract
}

const suite = "bookworm"

// Key returns a string that changes when the inputs change. It does not contain the versions of
// packages. Therefore a new version is installed only when another input changes.
func (s System) Key() string {
	return strings.Join(append(append([]string{s.Name, s.Variant, suite}, s.Packages...), s.Setup...), "\n")
}

// Build builds the root file system and writes it as an uncompressed tar file to out.
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
	cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=1700000000") // with a fixed time, the same packages give the same bytes
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build root file system %s: %w: check that the Debian mirror is reachable; output of mmdebstrap:\n%s", s.Name, err, tail(log.String(), 20))
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
