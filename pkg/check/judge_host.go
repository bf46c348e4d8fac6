package check

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine"
)

func sshAnswers(w *world) {
	for i, n := range w.in.Nodes {
		if err := w.answers[i].Err; err != nil && !errors.Is(err, ErrIncomplete) {
			w.say(Failed, n.Name, err.Error())
		}
	}
}

func answersWhole(w *world) {
	for i, n := range w.in.Nodes {
		if err := w.answers[i].Err; errors.Is(err, ErrIncomplete) {
			result := Failed
			if w.in.Run { // the host is slow or has other programs, and its playbook may succeed
				result = Unknown
			}
			w.say(result, n.Name, err.Error())
		}
	}
}

func rightMachine(w *world) {
	w.each(func(n Node, f *Facts, fail, unknown func(string)) {
		known := machine.MACs(n.MACs)
		switch {
		case len(known) == 0:
		case len(f.Identity.MACs) == 0:
			unknown("it shows no MAC address")
		case !slices.ContainsFunc(f.Identity.MACs, func(mac string) bool { return slices.Contains(known, mac) }):
			fail(fmt.Sprintf("another machine answers: %s has %s, the host has %s", f.Hostname, some(f.Identity.MACs), some(known)))
		}
	})
}

func becomesRoot(w *world) {
	w.each(func(_ Node, f *Facts, fail, _ func(string)) {
		if f.UID != "0" {
			fail(fmt.Sprintf("the user %s gets no root from sudo -n", f.User))
		}
	})
}

// same calls say with each value that several nodes have.
func (w *world) same(values func(f *Facts) []string, say func(value string, hosts []string)) {
	of := map[string][]string{}
	w.each(func(n Node, f *Facts, _, _ func(string)) {
		for _, v := range values(f) {
			if v != "" && !slices.Contains(of[v], n.Name) {
				of[v] = append(of[v], n.Name)
			}
		}
	})
	for _, v := range slices.Sorted(maps.Keys(of)) {
		if len(of[v]) > 1 {
			say(v, of[v])
		}
	}
}

func machineIDs(w *world) {
	w.each(func(_ Node, f *Facts, fail, _ func(string)) {
		if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(f.MachineID) {
			fail(fmt.Sprintf("its machine-id is %q", f.MachineID))
		}
	})
	w.same(func(f *Facts) []string { return []string{f.MachineID} }, func(id string, hosts []string) {
		for _, h := range hosts {
			w.say(Failed, h, fmt.Sprintf("%s have the machine-id %s", some(hosts), id))
		}
	})
}

func productUUIDs(w *world) {
	w.same(func(f *Facts) []string { return []string{f.UUID} }, func(id string, hosts []string) {
		for _, h := range hosts {
			w.say(Failed, h, fmt.Sprintf("%s have the product_uuid %s", some(hosts), id))
		}
	})
}

func macAddresses(w *world) {
	w.same(func(f *Facts) []string { return f.Identity.MACs }, func(mac string, hosts []string) {
		for _, h := range hosts {
			w.say(Failed, h, fmt.Sprintf("%s have the MAC address %s", some(hosts), mac))
		}
	})
}

// validName matches a label of DNS. kubespray refuses others as names of nodes.
var validName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)

func hostnames(w *world) {
	w.each(func(_ Node, f *Facts, fail, _ func(string)) {
		if !validName.MatchString(f.Hostname) {
			fail(fmt.Sprintf("its host name is %q: only lower-case letters, digits, dots and dashes are valid", f.Hostname))
		}
	})
	w.same(func(f *Facts) []string { return []string{f.Hostname} }, func(name string, hosts []string) {
		for _, h := range hosts {
			w.say(Failed, h, fmt.Sprintf("%s have the host name %s", some(hosts), name))
		}
	})
}

func occupied(w *world) {
	w.each(func(n Node, f *Facts, fail, _ func(string)) {
		found := slices.Clone(f.Kubernetes)
		for _, name := range []string{"kubelet", "kube-apiserver", "k3s", "rke2", "etcd"} {
			if slices.Contains(f.Processes, name) {
				found = append(found, "the process "+name)
			}
		}
		if len(found) > 0 && !n.Member {
			fail("it has " + some(found))
		}
	})
}

func initSystem(w *world) {
	w.each(func(_ Node, f *Facts, fail, unknown func(string)) {
		if f.Init == "" {
			unknown("/proc/1/comm cannot be read")
		} else if f.Init != "systemd" {
			fail("its init is " + f.Init)
		}
	})
}

func operatingSystem(w *world) {
	w.each(func(_ Node, f *Facts, fail, unknown func(string)) {
		switch {
		case w.in.OperatingSystem == "":
		case f.OS == "":
			unknown("/etc/os-release cannot be read")
		case f.OS != w.in.OperatingSystem:
			fail(fmt.Sprintf("its operating system is %s, not %s", f.OS, w.in.OperatingSystem))
		}
	})
}

// wantsCgroup2 reports whether the kubelet of this version refuses cgroup v1. A version that is not known is a new one.
func wantsCgroup2(version string) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return true
	}
	minor, err := strconv.Atoi(parts[1])
	return err != nil || minor >= 35
}

func cgroups(w *world) {
	w.each(func(_ Node, f *Facts, fail, unknown func(string)) {
		if f.CgroupFS == "" {
			unknown("the type of /sys/fs/cgroup cannot be read")
			return
		}
		if f.CgroupFS != "cgroup2fs" && !w.in.CgroupV1 && wantsCgroup2(w.in.KubernetesVersion) {
			fail(fmt.Sprintf("it has cgroup v1 (%s at /sys/fs/cgroup)", f.CgroupFS))
			return
		}
		var missing []string
		for _, name := range []string{"cpu", "cpuset", "memory", "pids"} {
			if !slices.Contains(f.Controllers, name) {
				missing = append(missing, name)
			}
		}
		if len(missing) > 0 {
			fail("its cgroups lack the controllers " + strings.Join(missing, ", "))
		}
	})
}

func cpus(w *world) {
	const least = 2
	w.each(func(n Node, f *Facts, fail, unknown func(string)) {
		switch {
		case f.CPUs == 0:
			unknown("the number of its CPUs is not known")
		case f.CPUs < least && slices.Contains(n.Roles, contract.RoleControlPlane):
			fail(fmt.Sprintf("it has %d CPU", f.CPUs))
		}
	})
}

func memory(w *world) {
	const mb, plane, worker = 1000 * 1000, 1700, 1024
	w.each(func(n Node, f *Facts, fail, unknown func(string)) {
		least := int64(worker)
		if slices.Contains(n.Roles, contract.RoleControlPlane) {
			least = plane
		}
		switch {
		case f.Memory == 0:
			unknown("the size of its memory is not known")
		case f.Memory < least*mb:
			fail(fmt.Sprintf("it has %d MB of memory, and needs %d", f.Memory/mb, least))
		}
	})
}

func swap(w *world) {
	w.each(func(_ Node, f *Facts, fail, unknown func(string)) {
		if !f.SwapsKnown {
			unknown("/proc/swaps cannot be read")
		} else if len(f.Swaps) > 0 {
			fail("it uses swap: " + some(f.Swaps))
		}
	})
}

func selinux(w *world) {
	w.each(func(_ Node, f *Facts, fail, _ func(string)) {
		if f.SELinux == "1" {
			fail("SELinux is enforcing")
		}
	})
}

func apparmor(w *world) {
	w.each(func(_ Node, f *Facts, fail, _ func(string)) {
		if f.AppArmor == "Y" && !slices.Contains(f.Tools, "apparmor_parser") {
			fail("AppArmor is on, and there is no apparmor_parser")
		}
	})
}

func tools(w *world) {
	w.each(func(_ Node, f *Facts, fail, _ func(string)) {
		var missing []string
		for _, name := range []string{"python3", "ip", "ping", "tar"} {
			if !slices.Contains(f.Tools, name) {
				missing = append(missing, name)
			}
		}
		if len(missing) > 0 {
			fail("it has no " + strings.Join(missing, ", "))
		}
	})
}

func packageLocks(w *world) {
	w.each(func(_ Node, f *Facts, fail, _ func(string)) {
		if len(f.Locks) > 0 {
			fail("held: " + some(f.Locks))
		}
	})
}

func packagesInterrupted(w *world) {
	w.each(func(_ Node, f *Facts, fail, _ func(string)) {
		if f.Interrupted && len(f.Locks) == 0 {
			fail("dpkg was interrupted: /var/lib/dpkg/updates is not empty")
		}
	})
}

func firewalls(w *world) {
	w.each(func(_ Node, f *Facts, fail, _ func(string)) {
		found := slices.Clone(f.Firewalls)
		if slices.Contains(f.Processes, "firewalld") {
			found = append(found, "firewalld")
		}
		if len(found) > 0 {
			fail("it runs " + strings.Join(found, ", "))
		}
	})
}

// some joins the first items of a list.
func some(items []string) string {
	const few = 3
	if over := len(items) - few; over > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(items[:few], ", "), over)
	}
	return strings.Join(items, ", ")
}
