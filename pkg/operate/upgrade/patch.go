package upgrade

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// patchLimit bounds the time of one run of patchScript.
const patchLimit = 30 * time.Minute

// Exit statuses of patchScript, when another process holds the lock of the package manager, and when
// packages or their lists cannot be downloaded.
const (
	packagesLocked   = 75
	packagesMissing  = 76
	supportsPackages = `[ -x /usr/bin/apt-get ] && [ -x /usr/bin/dpkg-query ]`
)

// patchScript upgrades the packages of a Debian-like system and prints the changed ones, the reasons
// for a reboot, and the ID of the present boot. It changes nothing of a system that is up to date.
// Packages on hold stay. Files of the configuration that a user has changed stay too. A new kernel is
// a new package (--with-new-pkgs), and no package is removed. Dpkg continues first where an earlier
// attempt was interrupted. The output of apt goes to a file: if the connection breaks, apt goes on,
// because a broken pipe would end it in the middle of a package.
//
// Not every system has the hooks that write reboot-required. A kernel that was written after the boot
// also needs a reboot, even if it has the name of the running one. The script must not contain a
// single quote.
const patchScript = `set -eu; umask 022; export LC_ALL=C DEBIAN_FRONTEND=noninteractive
new=$(mktemp -d); trap "rm -rf $new" EXIT
packages() { dpkg-query -W -f "\${Package}:\${Architecture} \${Version} \${db:Status-Abbrev}\n" | sed -n "s/ .i *\$//p"; }
try() {
  if "$@" >$new/said 2>&1 </dev/null; then return; fi
  tail -n 15 $new/said >&2
  if grep -qE "lock was locked by|Could not get lock|is locked by another process|Unable to (lock|acquire)" $new/said; then exit 75; fi
  if grep -qE "Failed to fetch|Unable to fetch|Some index files failed|Temporary failure resolving" $new/said; then exit 76; fi
  exit 1
}
packages >$new/before
try dpkg --force-confold --force-confdef --configure -a
try apt-get -q update -o APT::Update::Error-Mode=any
try apt-get -q -y --with-new-pkgs -o Dpkg::Options::=--force-confold -o Dpkg::Options::=--force-confdef upgrade
packages >$new/after
awk "NR == FNR { was[\$1] = \$2; next } { old = \"-\"; if (\$1 in was) old = was[\$1] } old != \$2 { print \"package\", \$1, old, \$2 }" $new/before $new/after
if [ -e /run/reboot-required ]; then echo reboot /run/reboot-required; fi
booted=$(awk "/^btime / { print \$2 }" /proc/stat)
for kernel in /boot/vmlinuz-*; do
  if [ -e "$kernel" ] && [ "$(stat -c %Z "$kernel")" -gt "$booted" ]; then echo reboot "$kernel"; fi
done
echo boot "$(cat /proc/sys/kernel/random/boot_id)"`

// patches is the result of patchScript on one node.
type patches struct {
	packages []string // those that were changed: "openssl:amd64 3.0.16 -> 3.0.17"
	reboot   []string // the files that require a reboot; empty: none is necessary
	boot     string   // the ID of the boot in which the script ran
}

func parsePatches(raw []byte) (p patches) {
	for line := range strings.Lines(string(raw)) {
		switch field := strings.Fields(session.Printable(strings.TrimSpace(line))); {
		case len(field) == 4 && field[0] == "package":
			p.packages = append(p.packages, fmt.Sprintf("%s %s -> %s", field[1], field[2], field[3]))
		case len(field) > 1 && field[0] == "reboot":
			p.reboot = append(p.reboot, field[1])
		case len(field) == 2 && field[0] == "boot":
			p.boot = field[1]
		}
	}
	return p
}

// checkPatchable refuses nodes whose packages BPA cannot upgrade, before any node is changed. A node
// that is in none but a later batch need not answer now.
func (u *upgrader) checkPatchable(ctx context.Context) error {
	if len(u.unpatched) == 0 {
		return nil
	}
	_, err := onNodes(u.toCheck(), func(n contract.Node) error {
		_, err := u.script(ctx, n, u.in.ProbeLimit, supportsPackages)
		var exit *ssh.ExitError
		switch {
		case errors.As(err, &exit):
			return &task.Error{Reason: contract.ReasonInvalidRequest, Host: n.Name, Step: "patch the operating system",
				Err: fmt.Errorf("node %s has no apt-get: BPA patches only Debian and systems like it. Nothing was changed. To take back the patch, run: "+
					"kubectl annotate bpa %s -n %s %s-", n.Name, u.in.Request.Provisioning, u.in.Request.Namespace, contract.AnnotationPatch)}
		case err != nil && !session.HasName(u.unpatched, n.Name):
			fmt.Fprintf(u.ports.Log, "  %s: it is not known whether its system can be patched: %v\n", n.Name, err)
			return nil
		}
		return u.unpatchable(n, err)
	})
	return err
}

// toCheck returns the nodes that checkPatchable checks. The first run of a patch checks all living nodes of
// the record that are to be patched, so that no patch ends in the middle of the cluster.
func (u *upgrader) toCheck() []contract.Node {
	level := u.in.Request.Upgrade.Patch
	if slices.ContainsFunc(u.members.Now.Nodes, func(n contract.Node) bool {
		return u.members.Now.PatchOf(n) == level || n.Target != nil && n.Target.Patch == level
	}) {
		return u.unpatched
	}
	return slices.DeleteFunc(slices.Clone(u.in.Nodes), func(n contract.Node) bool {
		later := session.HasName(u.members.Now.Nodes, n.Name) && u.c.Pins.Of(n.HostUID) != nil
		return !session.HasName(u.unpatched, n.Name) && !later
	})
}

// patch patches the nodes of the batch that do not have the requested patch level, all of them at the
// same time. They are drained. It returns the nodes of the batch on which nothing has failed.
func (u *upgrader) patch(ctx context.Context) (succeeded []contract.Node, err error) {
	if len(u.unpatched) == 0 {
		return u.batch, nil
	}
	percent := upgradeFrom
	if len(u.behind) > 0 {
		percent = checkFrom - 1
	}
	if err := u.begin(ctx, u.unpatched, func(_ contract.Node, t *contract.Target) { t.Patch = u.in.Request.Upgrade.Patch }); err != nil {
		return nil, err
	}
	u.progress.Set(percent, "Patch the operating system of "+session.Count(len(u.unpatched), "node"))
	fmt.Fprintf(u.ports.Log, "\nPatching the operating system of %s\n", session.JoinNames(u.unpatched))
	failed, err := onNodes(u.unpatched, func(n contract.Node) error { return u.patchNode(ctx, n) })
	return slices.DeleteFunc(slices.Clone(u.batch), func(n contract.Node) bool { return session.HasName(failed, n.Name) }), err
}

// onNodes calls do for each node, in parallel. It returns the nodes that failed, and the error of the first
// one with the names of the others.
func onNodes(nodes []contract.Node, do func(n contract.Node) error) (failed []contract.Node, err error) {
	errs := make([]error, len(nodes))
	session.Each(len(nodes), func(i int) { errs[i] = do(nodes[i]) })
	for i, problem := range errs {
		if problem != nil {
			failed, err = append(failed, nodes[i]), cmp.Or(err, problem)
		}
	}
	var known *task.Error
	if errors.As(err, &known) {
		known.Others = append(known.Others, session.Names(failed[1:])...)
	}
	return failed, err
}

// patchNode patches one node, and lets it boot again if that is necessary.
func (u *upgrader) patchNode(ctx context.Context, n contract.Node) error {
	raw, err := u.upgradePackages(ctx, n)
	if err != nil {
		return u.unpatchable(n, err)
	}
	p := parsePatches(raw)
	const most = 300
	text := fmt.Sprintf("  %s: %s changed\n", n.Name, session.Count(len(p.packages), "package"))
	for _, line := range p.packages[:min(len(p.packages), most)] {
		text += fmt.Sprintf("    %s: %s\n", n.Name, line)
	}
	if over := len(p.packages) - most; over > 0 {
		text += fmt.Sprintf("    %s: and %d more\n", n.Name, over)
	}
	fmt.Fprint(u.ports.Log, text)
	if len(p.reboot) == 0 {
		return nil
	}
	fmt.Fprintf(u.ports.Log, "  %s must boot again because of %s\n", n.Name, strings.Join(p.reboot, ", "))
	return u.reboot(ctx, n, p.boot)
}

// upgradePackages runs patchScript. It waits for the lock of the package manager.
func (u *upgrader) upgradePackages(ctx context.Context, n contract.Node) ([]byte, error) {
	started, logged := time.Now(), false
	for pause := u.in.FirstPause(); ; pause = min(2*pause, session.LongestPause) {
		raw, err := u.script(ctx, n, patchLimit, patchScript)
		var exit *ssh.ExitError
		if !errors.As(err, &exit) || exit.Status != packagesLocked || time.Since(started)+pause > u.in.HealthLimit {
			return raw, err
		}
		if !logged {
			fmt.Fprintf(u.ports.Log, "  %s: another process holds the lock of the package manager; waiting at most %s\n", n.Name, u.in.HealthLimit)
			logged = true
		}
		if !wait(ctx, pause) {
			return nil, session.Stopped(ctx, "the patch")
		}
	}
}

// script runs a script as root on a node of the batch.
func (u *upgrader) script(ctx context.Context, n contract.Node, limit time.Duration, script string) (raw []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err = session.OnMachine(ctx, u.in, n, u.key, u.c.Pins.Of(n.HostUID), u.ports, func(ctx context.Context, run machine.Shell) error {
		raw, err = run(ctx, script)
		return err
	})
	return raw, err
}

// unpatchable adds the failure reason to the error of a node that was not patched; nil for nil.
func (u *upgrader) unpatchable(n contract.Node, err error) error {
	if err == nil {
		return nil
	}
	failed := &task.Error{Reason: session.Reason(err), Host: n.Name, Step: "patch the operating system", Err: fmt.Errorf("%s was not patched: %w", n.Name, err)}
	var exit *ssh.ExitError
	if errors.As(err, &exit) {
		lines := session.Redacted(exit.Stderr)
		fmt.Fprintf(u.ports.Log, "  %s was not patched:\n    %s\n", n.Name, strings.Join(lines, "\n    "))
		failed.Err = fmt.Errorf("%s was not patched (exit status %d): %s", n.Name, exit.Status, session.LastLines(lines))
		switch exit.Status {
		case packagesLocked:
			failed.Reason = contract.ReasonPackagesLocked
		case packagesMissing:
			failed.Reason = contract.ReasonDownloadFailed
		default:
			failed.Reason = contract.ReasonPlaybookFailed
		}
	}
	return failed
}
