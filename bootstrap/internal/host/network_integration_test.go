//go:build integration

package host

import (
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// TestTheNetworkComesLater prepares the network as the supervisor does each minute, in a network namespace of its own: of a machine that
// has no network at its start, gets a default route later, and loses its rules to another program.
func TestTheNetworkComesLater(t *testing.T) {
	runtime.LockOSThread() // and never unlock it: the thread, with its namespace, ends with the test
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Fatalf("make a network namespace: %v (this test needs root)", err)
	}
	command := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
		return string(out)
	}
	prepare := func(what string, drops int) {
		t.Helper()
		if err := PrepareNetwork(t.Context()); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if have := command("iptables", "-t", "mangle", "-S", "POSTROUTING"); strings.Count(have, "-j DROP") != drops || strings.Count(have, "-o up0") != drops {
			t.Errorf("%s: want %d rules for up0:\n%s", what, drops, have)
		}
	}
	if routes := command("ip", "route"); routes != "" {
		t.Fatalf("the namespace is not empty: %s", routes)
	}
	prepare("no network", 0)
	if have := command("ip", "address", "show", layout.Bridge); !strings.Contains(have, layout.NodeCIDR) {
		t.Errorf("without a network, the machine has no address of its own: %s", have)
	}
	command("ip", "link", "add", "up0", "type", "bridge")
	command("ip", "address", "add", "192.0.2.1/24", "dev", "up0")
	command("ip", "link", "set", "up0", "up")
	command("ip", "route", "add", "default", "via", "192.0.2.2")
	prepare("a default route", 2)
	prepare("the same", 2)
	command("iptables", "-t", "mangle", "-F")
	prepare("rules that are gone", 2)
}
