package host

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Process is a running process of this machine.
type Process struct {
	PID  int
	Args []string
}

// Processes lists all running processes with their arguments. It omits kernel threads and zombies,
// which have no arguments.
func Processes() []Process {
	entries, _ := os.ReadDir("/proc")
	var list []Process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		raw, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err != nil || len(raw) == 0 {
			continue
		}
		list = append(list, Process{PID: pid, Args: strings.Split(string(bytes.TrimRight(raw, "\x00")), "\x00")})
	}
	return list
}

// IsShim reports whether the process is a container shim of the runtime with this socket.
func (p Process) IsShim(socket string) bool {
	if filepath.Base(p.Args[0]) != "containerd-shim-runc-v2" {
		return false
	}
	for i, a := range p.Args {
		if a == "-address" && i+1 < len(p.Args) && p.Args[i+1] == socket {
			return true
		}
	}
	return false
}

// Shims lists the running shims of the runtime with this socket.
func Shims(socket string) []Process {
	var shims []Process
	for _, p := range Processes() {
		if p.IsShim(socket) {
			shims = append(shims, p)
		}
	}
	return shims
}

// ResidentKiB returns the resident memory of a process in KiB, or 0 if there is no such process.
func ResidentKiB(pid int) int {
	raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(raw)) {
		if rest, found := strings.CutPrefix(line, "VmRSS:"); found {
			kib, _ := strconv.Atoi(strings.Fields(rest)[0])
			return kib
		}
	}
	return 0
}
