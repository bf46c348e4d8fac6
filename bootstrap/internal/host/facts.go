package host

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/akraino-icn/bpa/bootstrap/internal/config"
)

// Facts inspects the machine.
func Facts() config.Facts {
	return config.Facts{
		LowerOOMScore: hasCapability(unix.CAP_SYS_RESOURCE),
		AppArmor:      exists("/sys/kernel/security/apparmor/profiles"),
		BridgeNF:      exists("/proc/sys/net/bridge/bridge-nf-call-iptables"),
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func hasCapability(n int) bool {
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return false
	}
	return capability(string(raw), n)
}

// capability reports whether the effective set in the text of /proc/<pid>/status contains
// capability n.
func capability(status string, n int) bool {
	for line := range strings.Lines(status) {
		if hex, found := strings.CutPrefix(line, "CapEff:"); found {
			mask, err := strconv.ParseUint(strings.TrimSpace(hex), 16, 64)
			return err == nil && mask&(1<<n) != 0
		}
	}
	return false
}
