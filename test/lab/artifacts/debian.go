package artifacts

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// needed are the Debian packages required to build artifacts: for root file systems, Ansible's
// virtual environment and runc.
var needed = []string{"mmdebstrap", "python3-venv", "runc"}

// packages installs the missing needed packages. It contacts the Debian mirror only if some are
// missing.
func packages(ctx context.Context, log io.Writer) error {
	var missing []string
	for _, p := range needed {
		out, err := exec.CommandContext(ctx, "dpkg-query", "-W", "-f=${db:Status-Status}", p).Output()
		if err != nil || string(out) != "installed" {
			missing = append(missing, p)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	fmt.Fprintf(log, "  installing Debian packages: %s\n", strings.Join(missing, " "))
	if err := run(ctx, "", nil, "apt-get", "update", "-qq"); err != nil {
		return err
	}
	return run(ctx, "", []string{"DEBIAN_FRONTEND=noninteractive"}, "apt-get",
		append([]string{"install", "-y", "-qq", "--no-install-recommends"}, missing...)...)
}

// run runs a command in a folder. An error contains the output of the command.
func run(ctx context.Context, dir string, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
