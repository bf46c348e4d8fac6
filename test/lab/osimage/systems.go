package osimage

import _ "embed"

// NodeInit is the script that is the entry point of a node's container. It ends by executing
// systemd.
//
//go:embed node-init
var NodeInit []byte

// NodeSystem is the operating system of nodes, as ID-VERSION_ID of os-release.
const NodeSystem = "debian-12"

// Node is the root file system of a compute node after provisioning by Metal3: Debian with systemd,
// sshd, and the packages that Kubernetes and kubespray's system_packages expect. Its apt sources
// are empty, so that nothing can be installed from the Internet.
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
		// The image contains no identity, because every machine creates its own at first boot.
		`: >/etc/machine-id; rm -f /etc/ssh/ssh_host_* /etc/resolv.conf /etc/hostname; touch /etc/resolv.conf /etc/hostname /etc/hosts`,
		`mkdir -p -m 0700 /root/.ssh`,
		// These units need hardware, a console or the Internet.
		`systemctl mask systemd-udevd.service systemd-udev-trigger.service systemd-udevd-kernel.socket systemd-udevd-control.socket ` +
			`systemd-modules-load.service systemd-logind.service getty.target console-getty.service dev-hugepages.mount sys-kernel-debug.mount ` +
			`sys-kernel-tracing.mount apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer packagekit.service systemd-networkd.service ` +
			`systemd-resolved.service systemd-timesyncd.service`,
		`printf 'PasswordAuthentication no\nMaxStartups 100:30:200\nUseDNS no\n' >/etc/ssh/sshd_config.d/lab.conf`,
		// All machines of the lab share the processors of one. What Ansible does must not keep the kubelets from renewing their
		// leases, as it does not on a machine of its own.
		`mkdir -p /etc/systemd/system/ssh.service.d; printf '[Service]\nNice=5\n' >/etc/systemd/system/ssh.service.d/lab.conf`,
	},
}

// Ansible is the root file system in which ansible-playbook runs. It contains a Python interpreter
// and an SSH client. Its passwd has an entry for the user id of the task's pod, because ssh does
// not run without one.
var Ansible = System{
	Name:     "ansible",
	Variant:  "minbase",
	Packages: []string{"python3", "openssh-client", "ca-certificates"},
	Setup: []string{
		`echo nonroot:x:65532: >>/etc/group; echo nonroot:x:65532:65532:nonroot:/tmp:/usr/sbin/nologin >>/etc/passwd`,
		`rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/*`,
	},
}

// ProxyTools contains the tools that kube-proxy runs. The packages are only unpacked. Their scripts
// do not run, so ProxyToolsLinks lists the links that the scripts would create.
var ProxyTools = System{
	Name:     "proxy-tools",
	Variant:  "extract",
	Packages: []string{"iptables", "conntrack", "libc6", "netbase"},
}

// ProxyToolsLinks are the names under which kube-proxy runs iptables.
var ProxyToolsLinks = []string{
	"iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore",
}

// Nginx contains nginx and its TCP proxy module, for kubespray's proxy of the API server on the nodes.
// The packages are only unpacked, as those of ProxyTools.
var Nginx = System{
	Name:     "nginx",
	Variant:  "extract",
	Packages: []string{"nginx", "libnginx-mod-stream", "libc6"},
}

// Keepalived contains keepalived and the program of its check, for contract.KeepalivedImage. The packages are only unpacked.
var Keepalived = System{
	Name:     "keepalived",
	Variant:  "extract",
	Packages: []string{"keepalived", "curl", "libc6"},
}

// Busybox is the root file system for pods that a user or a test runs in a new cluster.
var Busybox = System{
	Name:     "busybox",
	Variant:  "extract",
	Packages: []string{"busybox-static"},
}

// BusyboxLinks are the names of busybox commands. The image has a link for each of them.
var BusyboxLinks = []string{"sh", "sleep", "cat", "cp", "echo", "env", "hostname", "httpd", "ip", "ls", "nc", "nslookup", "ping", "wget"}
