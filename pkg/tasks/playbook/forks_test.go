package playbook

import (
	"testing"
	"testing/fstest"
)

func TestForks(t *testing.T) {
	const GiB = 1 << 30
	for name, test := range map[string]struct {
		nodes, cpus int
		memory      int64
		want        int
	}{
		"fewer nodes than Ansible's default": {3, 2, 2 * GiB, 5},
		"a fork for each node":               {12, 2, 2 * GiB, 12},
		"the processors limit":               {100, 2, 16 * GiB, 40},
		"one processor":                      {100, 1, 16 * GiB, 20},
		"the memory limits":                  {100, 16, 2 * GiB, 32},
		"more memory":                        {100, 16, 8 * GiB, 100},
		"little memory":                      {12, 2, 840 << 20, 2},
		"less memory than one host needs":    {12, 2, 64 << 20, 1},
		"the largest number":                 {7, 2, 1<<63 - 1, 7},
	} {
		if got := forks(test.nodes, test.cpus, test.memory); got != test.want {
			t.Errorf("%s: %d forks, want %d", name, got, test.want)
		}
	}
	if got := Forks(1); got < 1 || got > fewestForks {
		t.Errorf("%d forks in this container", got)
	}
}

func TestMemoryLimit(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	for name, test := range map[string]struct {
		cgroup fstest.MapFS
		want   int64
	}{
		"version 2":                 {fstest.MapFS{"memory.max": file("1073741824\n")}, 1 << 30},
		"version 2 without a limit": {fstest.MapFS{"memory.max": file("max\n")}, usualMemory},
		"version 1":                 {fstest.MapFS{"memory/memory.limit_in_bytes": file("536870912\n")}, 512 << 20},
		"version 1 without a limit": {fstest.MapFS{"memory/memory.limit_in_bytes": file("9223372036854771712\n")}, usualMemory},
		"no control group":          {fstest.MapFS{}, usualMemory},
		"damaged":                   {fstest.MapFS{"memory.max": file("")}, usualMemory},
	} {
		if got := memoryLimit(test.cgroup); got != test.want {
			t.Errorf("%s: %d bytes, want %d", name, got, test.want)
		}
	}
}
