package playbook

import (
	"io/fs"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
)

const (
	// fewestForks is Ansible's own default. With more forks than hosts, a task can start before the
	// processes of the task before have ended.
	fewestForks = 5
	// forksPerCPU are enough to keep one processor busy: a fork waits most of its time for its host.
	forksPerCPU = 20
	// forkMemory is what one host in parallel needs, in bytes: a process of Ansible and two of ssh. With
	// kubespray v2.31.0, at most 35 MiB of them are not shared.
	forkMemory = 40 << 20
	// fixedMemory is what everything else in the container needs: the task, Ansible's first process (160 MiB
	// for two hosts), that of a second playbook beside it, and the scratch folder, which is in memory (at most 256 MiB).
	fixedMemory = 760 << 20
	// usualMemory, the limit of Task kubespray, counts for a container whose limit is not known.
	usualMemory = 2 << 30
)

// Forks returns how many hosts Ansible works on in parallel in this container.
func Forks(nodes int) int {
	return forks(nodes, runtime.GOMAXPROCS(0), memoryLimit(os.DirFS("/sys/fs/cgroup")))
}

// forks returns the number of forks for a number of hosts and processors, and for a memory limit in
// bytes. It is at least 1, also with less memory than Ansible needs for one host.
func forks(nodes, cpus int, memory int64) int {
	fitting := max(memory-fixedMemory, forkMemory) / forkMemory
	return min(max(fewestForks, nodes), forksPerCPU*cpus, int(min(fitting, math.MaxInt32)))
}

// memoryLimit returns the memory limit of the container, in bytes. cgroup is the folder of its control
// group, of version 2 or 1.
func memoryLimit(cgroup fs.FS) int64 {
	for _, file := range []string{"memory.max", "memory/memory.limit_in_bytes"} {
		text, err := fs.ReadFile(cgroup, file)
		if err != nil {
			continue
		}
		limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err == nil && limit > 0 && limit < 1<<60 { // without a limit, version 2 has "max" and version 1 a number near 2^63
			return limit
		}
	}
	return usualMemory
}
