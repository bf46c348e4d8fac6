// Package checktest is a host for tests that answers the probe of package check as a good host does. Its answer is recorded:
// it was written by hand after that of a real host.
package checktest

import (
	_ "embed" // for the answer
	"fmt"
	"io"
	"strings"
	"time"
)

//go:embed good.txt
var recorded string

// Answer returns the answer of host n, from 1 to 9, to a script. The script says which disks, features and peers
// it asks for.
func Answer(script string, n int, now time.Time) string {
	var features, peers, disks []string
	for _, path := range strings.Fields(valueOf(script, "paths")) {
		if strings.HasPrefix(path, "/tmp") {
			disks = append(disks, "disk "+path+" 35 4096 2097152 2097152 1048576 1048000", "mount "+path+" /tmp rw,nosuid,nodev,noexec")
		} else {
			disks = append(disks, "disk "+path+" 65024 4096 26214400 20971520 6553600 6000000", "mount "+path+" / rw,relatime")
		}
	}
	for _, f := range strings.Fields(valueOf(script, "features")) {
		name, _, _ := strings.Cut(f, ":")
		features = append(features, "feature "+name+" yes built in")
	}
	for _, at := range strings.Fields(valueOf(script, "pings")) {
		peers = append(peers, "ping "+at+" 1500 1500")
	}
	for _, k := range strings.Fields(valueOf(script, "knocks")) {
		peers = append(peers, "knock "+strings.ReplaceAll(k, "/", " ")+" refused")
	}
	at := fmt.Sprintf("clock %.6f\n", float64(now.UnixMicro())/1e6)
	return strings.NewReplacer("CLOCK\n", at, "N\n", fmt.Sprintf("%d\n", n), "N/", fmt.Sprintf("%d/", n),
		"FEATURES\n", lines(features), "PEERS\n", lines(peers), "DISKS\n", lines(disks), "FSYNC\n", strings.Repeat("fsync 0.0011\n", 200)).Replace(recorded)
}

// Host returns the commands of host n for a test server of SSH. change changes its answer; nil: it is good.
func Host(n int, change func(answer string) string) func(command string, stdout, stderr io.Writer) int {
	return func(_ string, stdout, stderr io.Writer) int {
		script, err := io.ReadAll(stdout.(io.Reader))
		if err != nil {
			_, _ = fmt.Fprintln(stderr, err)
			return 1
		}
		answer := Answer(string(script), n, time.Now())
		if change != nil {
			answer = change(answer)
		}
		_, _ = io.WriteString(stdout, answer) // a client that has left needs none
		return 0
	}
}

// valueOf returns the value of a variable that the script sets.
func valueOf(script, name string) string {
	_, rest, _ := strings.Cut("\n"+script, "\n"+name+"='")
	value, _, _ := strings.Cut(rest, "'")
	return value
}

func lines(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return strings.Join(all, "\n") + "\n"
}
