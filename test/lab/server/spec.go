package server

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// disks are folders of the server that are not on the overlay file system, on which containerd could not make overlay file
// systems of its own.
var disks = []string{"lib/containerd", "lib/kubelet", "lib/etcd", "log"}

// writeSpec writes config.json of runc: its default, with what Kubernetes gives a privileged container.
func (s *Server) writeSpec() error {
	file := filepath.Join(s.folder, "config.json")
	if err := run(exec.Command("runc", "spec", "--bundle", s.folder)); err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var spec map[string]any
	if err := json.Unmarshal(text, &spec); err != nil {
		return err
	}
	if err := s.change(spec); err != nil {
		return err
	}
	if text, err = json.Marshal(spec); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

func (s *Server) change(spec map[string]any) error {
	own, err := ownCapabilities()
	if err != nil {
		return err
	}
	process, linux := spec["process"].(map[string]any), spec["linux"].(map[string]any)
	process["terminal"], process["noNewPrivileges"] = false, false
	process["args"] = []string{"/usr/sbin/node-init"}
	process["env"] = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "container=oci"} // systemd reads container
	process["capabilities"] = map[string]any{"bounding": own, "effective": own, "permitted": own}
	delete(process, "rlimits")
	spec["hostname"], spec["root"] = s.Name, map[string]any{"path": "rootfs"}
	linux["namespaces"] = []map[string]string{{"type": "pid"}, {"type": "ipc"}, {"type": "uts"}, {"type": "mount"},
		{"type": "network", "path": "/run/netns/" + s.namespace()}}
	linux["devices"] = []map[string]any{{"path": "/dev/kmsg", "type": "c", "major": 1, "minor": 11, "fileMode": 0o600}} // the kubelet reads it
	linux["resources"] = map[string]any{"devices": []map[string]any{{"allow": true, "access": "rwm"}}}
	linux["cgroupsPath"] = "/lab-servers/" + s.Name
	delete(linux, "maskedPaths")
	delete(linux, "readonlyPaths")
	spec["mounts"] = slices.Concat(slices.DeleteFunc(spec["mounts"].([]any), replaced), s.mounts())
	return nil
}

// replaced reports whether a mount of runc's default is one that mounts replaces.
func replaced(m any) bool {
	to := m.(map[string]any)["destination"].(string)
	return strings.HasPrefix(to, "/sys")
}

// capabilities are the names of the kernel's capabilities, by number.
var capabilities = strings.Fields(`CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE
	NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE
	SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND
	AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE`)

// ownCapabilities returns the names of those that this process can give: not each machine has all.
func ownCapabilities() (names []string, err error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil, err
	}
	_, text, _ := strings.Cut(string(status), "CapBnd:")
	bits, err := strconv.ParseUint(strings.Fields(text)[0], 16, 64)
	for i, name := range capabilities {
		if bits&(1<<i) != 0 {
			names = append(names, "CAP_"+name)
		}
	}
	return names, err
}

func (s *Server) mounts() []any {
	mount := func(to, kind, from string, options ...string) any {
		return map[string]any{"destination": to, "type": kind, "source": from, "options": options}
	}
	bind := func(to, from string) any {
		return mount(to, "bind", filepath.Join(s.folder, from), "rbind", "rw")
	}
	all := []any{
		mount("/sys", "sysfs", "sysfs", "nosuid", "noexec", "nodev"),
		mount("/sys/fs/cgroup", "cgroup", "cgroup", "nosuid", "noexec", "nodev", "relatime"),
		mount("/run", "tmpfs", "tmpfs", "nosuid", "mode=755"),
		bind("/tmp", "tmp"), bind("/etc/lab", "key"),
	}
	for _, disk := range disks {
		all = append(all, bind("/var/"+disk, disk))
	}
	return all
}
