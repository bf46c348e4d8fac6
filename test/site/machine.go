package site

import (
	"fmt"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/test/lab/fleet"
)

// inMachine runs a shell command among the processes of a machine. Those of a machine that can reboot are
// in namespaces of their own: see test/lab/osimage/node-init.
const inMachine = `if [ -e /run/lab.pid ]; then exec nsenter --pid --mount --target "$(cat /run/lab.pid)" sh -c "$0"; fi; exec sh -c "$0"`

// On runs a command on a lab host as root and returns its output. It uses kubectl exec, because a
// test may have stopped sshd.
func (s *Site) On(host, command string) string {
	s.T.Helper()
	out, err := s.TryOn(host, command)
	if err != nil {
		s.T.Fatalf("%s on %s: %v\n%s", command, host, err, out)
	}
	return out
}

// TryOn is On, and returns an error instead of failing the test.
func (s *Site) TryOn(host, command string) (string, error) {
	s.T.Helper()
	if s.runOn != nil {
		return s.runOn(host, command)
	}
	return s.Admin().TryKubectl("", "--namespace", fleet.PodNamespace, "exec", s.Pool+"-"+host, "--", "sh", "-c", inMachine, command)
}

// OnWith is On with a standard input, for texts that must not be in the audit log: it has the arguments of the command.
func (s *Site) OnWith(host, stdin, command string) string {
	s.T.Helper()
	out, err := s.Admin().TryKubectl(stdin, "--namespace", fleet.PodNamespace, "exec", "--stdin", s.Pool+"-"+host, "--", "sh", "-c", inMachine, command)
	if err != nil {
		s.T.Fatalf("%s on %s: %v\n%s", command, host, err, out)
	}
	return out
}

// AwaitOn waits until a shell command succeeds on a lab host, and fails the test after limit. The
// machine runs the command again and again, because not everything on a machine can be watched.
func (s *Site) AwaitOn(host, command string, limit time.Duration) {
	s.T.Helper()
	script := `until eval "$0" >/dev/null 2>&1; do sleep 0.3; done`
	end, admin := time.Now().Add(limit), s.Admin()
	for {
		seconds := max(1, min(int(time.Until(end).Seconds()), 90)) // a call of kubectl takes at most two minutes
		out, err := admin.TryKubectl("", "--namespace", fleet.PodNamespace, "exec", s.Pool+"-"+host, "--",
			"timeout", fmt.Sprint(seconds), "sh", "-c", script, command)
		switch {
		case err == nil:
			return
		case time.Now().After(end):
			s.T.Fatalf("timeout after %s: waiting on %s for: %s", limit, host, command)
		case !strings.Contains(out, "exit code 124"): // timeout(1) ended the script
			s.T.Fatalf("wait on %s for %q: %v\n%s", host, command, err, out)
		}
	}
}

// PowerOff makes a lab host as silent as a machine without power: nothing at its address answers.
// Its BareMetalHost does not change.
func (s *Site) PowerOff(host string) {
	s.T.Helper()
	s.On(host, "ip link set eth0 down")
}

// PowerOn undoes PowerOff. The machine has kept its disk, and programs that ran are running again.
func (s *Site) PowerOn(host string) {
	s.T.Helper()
	// The default route is the one that the machine had, see test/lab/osimage/node-init. The kernel
	// removed it with the link.
	s.On(host, `ip link set eth0 up && ip route replace default dev eth0 scope link src "$(ip -4 -o addr show dev eth0 | awk '{sub("/.*", "", $4); print $4; exit}')"`)
}

// Marks returns, for each host by name, the value of an annotation. Hosts without it are left out.
func (s *Site) Marks(annotation string) map[string]string {
	s.T.Helper()
	marks := map[string]string{}
	for _, h := range s.hosts() {
		if value, marked := h.Annotations[annotation]; marked {
			marks[h.Name] = value
		}
	}
	return marks
}
