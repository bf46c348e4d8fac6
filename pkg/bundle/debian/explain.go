package debian

import (
	"context"
	"fmt"
	"strings"
)

// advice maps a part of apt-get's error text (has) to the user's next step (do). The first entry
// that matches is used.
var advice = []struct{ has, do string }{
	{"NO_PUBKEY", "the sources are signed by other keys: name the file that has them with --keyring"},
	{"is not signed", "set --keyring to the file with the keys of the source, or name another source"},
	{"signatures couldn't be verified", "the sources are signed by other keys: name the file that has them with --keyring"},
	{"signatures were invalid", "the source may have been changed on the network: try another mirror"},
	{"Hash Sum mismatch", "the mirror is being updated, or the content was changed: try again, or try another mirror"},
	{"unexpected size", "the mirror is being updated, or the content was changed: try again, or try another mirror"},
	{"is not valid yet", "correct this machine's clock"},
	{"is expired", "the source is too old, or this machine's clock is wrong: use another mirror, or correct the clock"},
	{"does not have a Release file", "the source does not exist: compare --apt-source with the distribution's documentation"},
	{"was not found", "name a version that the sources have, or no version"},
	{"has no installation candidate", "several packages provide this name: name one of them"},
	{"unmet dependencies", "the sources lack these packages: add a source that has them with --apt-source, or name packages that do not conflict"},
	{"held broken packages", "the sources lack these packages: add a source that has them with --apt-source, or name packages that do not conflict"},
	{"Unable to locate package", "add a source that has the package with --apt-source"},
	{"Could not resolve", "check the Internet connection, and the proxy in /etc/apt/apt.conf.d"},
	{"Could not connect", "check the Internet connection, and the proxy in /etc/apt/apt.conf.d"},
	{"enough free space", "free disk space, or set TMPDIR to a folder on a larger disk"},
	{"No space left", "free disk space, or set TMPDIR to a folder on a larger disk"},
	{"Failed to fetch", "try again, or try another mirror"},
}

// explain returns an error that consists of the errors in apt-get's output and the user's next
// step. If the output has no errors, it uses err instead.
func (a *apt) explain(ctx context.Context, command, out, errOut string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	problem := errorLines(errOut) + unmet(out)
	if problem == "" {
		problem = err.Error()
	}
	output := out + errOut
	text := fmt.Sprintf("apt-get %s for %s %s: %s", command, a.request.System, a.request.Architecture, problem)
	for _, known := range advice {
		if strings.Contains(output, known.has) {
			return fmt.Errorf("%s; %s", text, known.do)
		}
	}
	return fmt.Errorf("%s", text)
}

// maxErrorLines is the maximum number of apt-get's lines in an error.
const maxErrorLines = 8

// errorLines returns the lines that apt-get marks as errors. If there are none, it returns the
// warnings.
func errorLines(output string) string {
	var lines []string
	for _, mark := range []string{"E: ", "W: "} {
		for _, line := range strings.Split(output, "\n") {
			if text, marked := strings.CutPrefix(line, mark); marked {
				lines = append(lines, strings.TrimSpace(text))
			}
		}
		if len(lines) > 0 {
			break
		}
	}
	if len(lines) > maxErrorLines {
		lines = append(lines[:maxErrorLines], fmt.Sprintf("and %d more", len(lines)-maxErrorLines))
	}
	return strings.Join(lines, "; ")
}

// unmet returns apt-get's lines about unmet dependencies, which are indented.
func unmet(out string) string {
	_, block, there := strings.Cut(out, "unmet dependencies:\n")
	if !there {
		return ""
	}
	var lines []string
	for _, line := range strings.Split(block, "\n") {
		if !strings.HasPrefix(line, " ") || len(lines) == maxErrorLines {
			break
		}
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return ": " + strings.Join(lines, "; ")
}
