package osimage

import _ "embed"

// NodeInit is the entry point of a node's container; it ends by becoming systemd.
//
//go:embed node-init
var NodeInit []byte

// NodeSystem is what nodes say in their os-release: ID-VERSION_ID.
const NodeSystem = "debian-12"

// Node is a compute node as Metal3 would leave it: Debian with systemd, sshd and the operating system packages that
// Kubernetes and kubespray's system_packages expect. Its apt sources are empty: nothing can come from outside.
var Node = System{
	Name:    "node",
	Variant: "minbase",
	Packages: []string{
		"systemd", "systemd-sysv", "dbus", "openssh-server", "python3", "python3-apt", "sudo", "kmod", "procps", "util-linux", "mount",
		"iproute2", "iptables", "ipset", "conntrack", "ebtables", "socat", "ethtool", "iputils-ping",
		"curl", "openssl", "ca-certificates", "gnupg", "rsync", "tar", "unzip", "xz-utils", "less", "bash-completion",
		"e2fsprogs", "xfsprogs", "mergerfs", "apparmor", "libseccomp2", "apt-transport-https", "software-properties-common",
	},
	Setup: []string{
		`rm -f /etc/apt/sources.list /etc/apt/sources.list.d/*; : >/etc/apt/sources.list`,
		// Every machine gets its own identity at first boot.
		`: >/etc/machine-id; rm -f /etc/ssh/ssh_host_* /etc/resolv.conf /etc/hostname; touch /etc/resolv.conf /etc/hostname /etc/hosts`,
		`mkdir -p -m 0700 /root/.ssh`,
		// Units that need hardware, a console or the Internet.
		`systemctl mask systemd-udevd.service systemd-udev-trigger.service systemd-udevd-kernel.socket systemd-udevd-control.socket ` +
			`systemd-modules-load.service systemd-logind.service getty.target console-getty.service dev-hugepages.mount sys-kernel-debug.mount ` +
			`sys-kernel-tracing.mount apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer packagekit.service systemd-networkd.service ` +
			`systemd-resolved.service systemd-timesyncd.service`,
		`printf 'PasswordAuthentication no\nMaxStartups 100:30:200\nUseDNS no\n' >/etc/ssh/sshd_config.d/lab.conf`,
	},
}

// Ansible is where ansible-playbook runs: an interpreter, an SSH client and a name for the user id of the task's pod,
// since ssh refuses to run for a user that has none.
var Ansible = System{
	Name:     "ansible",
	Variant:  "minbase",
	Packages: []string{"python3", "openssh-client", "ca-certificates"},
	Setup: []string{
		`echo nonroot:x:65532: >>/etc/group; echo nonroot:x:65532:65532:nonroot:/tmp:/usr/sbin/nologin >>/etc/passwd`,
		`rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/*`,
	},
}

// ProxyTools is what kube-proxy calls. Packages are only unpacked, so Links makes what their scripts would have made.
var ProxyTools = System{
	Name:     "proxy-tools",
	Variant:  "extract",
	Packages: []string{"iptables", "conntrack", "libc6", "netbase"},
}

// ProxyToolsLinks are the names under which kube-proxy calls iptables.
var ProxyToolsLinks = []string{
	"iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore",
}

// Busybox is for pods that a person or a test starts in a new cluster.
var Busybox = System{
	Name:     "busybox",
	Variant:  "extract",
	Packages: []string{"busybox-static"},
}

// BusyboxLinks are the names under which it is called.
var BusyboxLinks = []string{"sh", "sleep", "cat", "echo", "env", "hostname", "httpd", "ip", "ls", "nc", "nslookup", "ping", "wget"}
