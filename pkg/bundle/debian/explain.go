package debian

import (
	"context"
	"fmt"
	"strings"
)

// advice is what to do about an error of apt-get, by what its text has in it. The first that fits is given.
var advice = []struct{ has, do string }{
	{"NO_PUBKEY", "the sources are signed by other keys: name the file that has them with --keyring"},
	{"is not signed", "name the file with the keys of who signs it with --keyring, or another source"},
	{"signatures couldn't be verified", "the sources are signed by other keys: name the file that has them with --keyring"},
	{"signatures were invalid", "somebody may have changed it on its way: try another mirror"},
	{"Hash Sum mismatch", "the mirror is just being changed, or somebody changed it: try again, or another mirror"},
	{"unexpected size", "the mirror is just being changed, or somebody changed it: try again, or another mirror"},
	{"is not valid yet", "set this machine's clock"},
	{"is expired", "the source is too old, or this machine's clock is wrong: take another mirror"},
	{"does not have a Release file", "there is nothing like that: compare --apt-source with the distribution's documentation"},
	{"was not found", "name a version that the sources have, or none"},
	{"has no installation candidate", "several packages could stand for it: name the one that is wanted"},
	{"unmet dependencies", "the sources lack what is named above: add one that has it with --apt-source, or ask for packages that do not conflict"},
	{"held broken packages", "the sources lack what is named above: add one that has it with --apt-source, or ask for packages that do not conflict"},
	{"Unable to locate package", "add the source that has it with --apt-source"},
	{"Could not resolve", "is there Internet here, or a proxy that /etc/apt/apt.conf.d does not name?"},
	{"Could not connect", "is there Internet here, or a proxy that /etc/apt/apt.conf.d does not name?"},
	{"enough free space", "make room, or set TMPDIR to a folder on a larger disk"},
	{"No space left", "make room, or set TMPDIR to a folder on a larger disk"},
	{"Failed to fetch", "try again, or another mirror"},
}

// explain makes an error of what apt-get said: its errors, if there are any, and what to do.
func (a *apt) explain(ctx context.Context, command, out, errOut string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	told := errorLines(errOut) + unmet(out)
	if told == "" {
		told = err.Error()
	}
	said := out + errOut
	text := fmt.Sprintf("apt-get %s for %s %s: %s", command, a.wish.System, a.wish.Architecture, told)
	for _, known := range advice {
		if strings.Contains(said, known.has) {
			return fmt.Errorf("%s; %s", text, known.do)
		}
	}
	return fmt.Errorf("%s", text)
}

// maxErrorLines is how many lines of apt-get's are passed on.
const maxErrorLines = 8

// errorLines are what apt-get marks as errors, or warnings if there are none.
func errorLines(said string) string {
	var lines []string
	for _, mark := range []string{"E: ", "W: "} {
		for _, line := range strings.Split(said, "\n") {
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

// unmet are the lines of apt-get's about dependencies: one for each package, indented.
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
