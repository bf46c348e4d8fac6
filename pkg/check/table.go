package check

// table has all checks. docs/checks.md shows it.
var table = []Check{
	// The way to the host.
	{ID: "ssh", Severity: Error, Elsewhere: "HostUnreachable, SSHDenied, HostKeyChanged", What: "its SSH server accepts the login, with the host key that is pinned", judge: sshAnswers,
		Do: "switch the host on, correct its address, or the user and the key of the login; docs/reasons.md has a row for another host key"},
	{ID: "answer", Severity: Error, What: "it runs the probe to its end", judge: answersWhole, Machine: true,
		Do: "log in and see what is slow or missing; the probe needs a POSIX shell and the usual small programs"},
	{ID: "wrong-machine", Severity: Error, Elsewhere: "WrongMachine", What: "it has a MAC address of the BareMetalHost", judge: rightMachine,
		Do: "correct the address or the MAC address of the BareMetalHost, or the DHCP reservation"},
	{ID: "sudo", Severity: Error, Elsewhere: "SSHDenied", What: "the user is root, or gets root from `sudo -n` without a password", judge: becomesRoot,
		Do: "allow it in /etc/sudoers.d: USER ALL=(ALL) NOPASSWD: ALL"},

	// Its identity.
	{ID: "machine-id", Severity: Error, What: "`/etc/machine-id` exists, and no other host has the same", judge: machineIDs,
		Do: "on each host: rm -f /etc/machine-id /var/lib/dbus/machine-id; systemd-machine-id-setup; then reboot. Remove the file from the image"},
	{ID: "product-uuid", Severity: Warning, What: "no other host has its product_uuid", judge: productUUIDs,
		Do: "set another UUID in the firmware or in the hypervisor, if storage or the cloud provider uses it"},
	{ID: "mac-address", Severity: Warning, What: "no other host has a MAC address of it. USB network cards of management controllers can have the same one on all servers of a series", judge: macAddresses,
		Do: "two objects describe one machine, or a MAC address was set by hand: correct the BareMetalHost or the network card"},
	{ID: "hostname", Severity: Warning, What: "it has a valid host name, and no other host has the same", judge: hostnames,
		Do: "kubespray sets the name of the node. If that is switched off (override_system_hostname), set it with hostnamectl"},
	{ID: "address", Severity: Error, What: "the address of the node is on one of its network cards, and no other node has it", judge: addresses,
		Do: "correct the network of the host, or the address of the BareMetalHost: NAT between the site and its hosts is not supported"},
	{ID: "occupied", Severity: Error, Elsewhere: "HostOccupied", What: "no Kubernetes is on it, except for a member of the cluster", judge: occupied,
		Do: "remove it with `kubectl bpa hosts reset HOST`, or choose another host"},

	// Its system.
	{ID: "systemd", Severity: Error, What: "its init is systemd", judge: initSystem,
		Do: "install an operating system that kubespray supports"},
	{ID: "operating-system", Severity: Error, Elsewhere: "InvalidRequest", What: "its operating system is that of spec.operatingSystem, for which the depot has packages", judge: operatingSystem,
		Do: "install that system, or correct spec.operatingSystem and load the packages of the other one into the depot"},
	{ID: "kernel", Severity: Error, What: "its kernel is new enough for Kubernetes (4.19), the network plugin and the proxy mode", judge: kernelVersion, Machine: true,
		Do: "install a newer kernel, or choose another network plugin or kube_proxy_mode"},
	{ID: "kernel-features", Severity: Error, What: "its kernel has what containers, the network plugin and the proxy mode need", judge: kernelFeatures,
		Do: "install the package with the missing modules, such as linux-modules-extra, or choose another network plugin or kube_proxy_mode"},
	{ID: "cgroup", Severity: Error, What: "it has cgroup v2, which the kubelet requires from 1.35 on, with the controllers cpu, cpuset, memory and pids", judge: cgroups,
		Do: "boot with systemd.unified_cgroup_hierarchy=1 (and cgroup_enable=memory where it is off)"},
	{ID: "cpus", Severity: Error, What: "a control plane has at least 2 CPUs, as kubeadm requires", judge: cpus,
		Do: "choose another host for the control plane"},
	{ID: "memory", Severity: Error, What: "a control plane has at least 1700 MB of memory, as kubeadm requires, and a worker 1024 MB, as kubespray does", judge: memory,
		Do: "choose another host, or add memory"},
	{ID: "swap", Severity: Warning, What: "it uses no swap", judge: swap,
		Do: "kubespray switches swap off and removes it from /etc/fstab. Remove what else brings it back at boot: a systemd unit, zram or a generator"},
	{ID: "selinux", Severity: Warning, What: "SELinux is not enforcing", judge: selinux,
		Do: "kubespray sets it to permissive, and needs its Python bindings: install python3-libselinux"},
	{ID: "apparmor", Severity: Warning, What: "a kernel with AppArmor has apparmor_parser, with which containerd loads profiles", judge: apparmor,
		Do: "install the package apparmor, or boot with apparmor=0"},
	{ID: "tools", Severity: Warning, What: "it has python3, ip, ping and tar, which Ansible and kubespray use", judge: tools,
		Do: "install them in the image: python3 iproute2 iputils-ping tar"},
	{ID: "package-lock", Severity: Warning, What: "no program holds the lock of the package manager", judge: packageLocks,
		Do: "wait until it has ended. If it is unattended-upgrades, switch that off in the image"},
	{ID: "package-interrupted", Severity: Error, What: "no installation of packages was interrupted", judge: packagesInterrupted, Machine: true,
		Do: "dpkg --configure -a"},

	// Its clock.
	{ID: "clock", Severity: Error, What: "its clock differs from that of this machine by at most 5 s", judge: clocks,
		Do: "set the clock, and give the host a time source that the site has: certificates are not valid yet on a host that is behind"},
	{ID: "clock-drift", Severity: Warning, What: "its clock differs from that of this machine by at most 0.5 s", judge: clockDrifts,
		Do: "correct its time source: etcd warns from 1 s on"},
	{ID: "time-source", Severity: Warning, What: "its clock is synchronized: chrony, ntpd, systemd-timesyncd or PTP", judge: timeSources, Machine: true,
		Do: "configure a time source that the site has (kubespray: ntp_enabled, ntp_servers)"},

	// Its disks.
	{ID: "disk-space", Severity: Error, What: "there is room for what an installation writes: about 4 GiB for containerd, kubespray, the kubelet and etcd together", judge: diskSpace, Machine: true,
		Do: "free or add space there, or mount a larger disk"},
	{ID: "disk-reserve", Severity: Warning, What: "there is more room there, for a cluster in use: 10 GiB for containerd, 4 for etcd and 5 for the rest", judge: diskReserve,
		Do: "mount a larger disk there before the cluster fills it"},
	{ID: "disk-pressure", Severity: Error, What: "the disks of the kubelet (10 %, 5 % of the inodes) and of containerd (15 %) have more free than the kubelet's limits, or than those of eviction_hard", judge: diskPressure,
		Do: "free or add space there: otherwise the kubelet evicts pods as soon as it starts, whatever the size of the disk"},
	{ID: "mounts", Severity: Error, What: "nothing of that is mounted read-only, and programs can be started there", judge: mounts, Machine: true,
		Do: "mount it with rw and exec: containers run from /var/lib/containerd, and kubespray puts programs into /usr/local/bin"},
	{ID: "etcd-fsync", Severity: Warning, What: "the 99th percentile of 200 writes with a sync where etcd writes is at most 10 ms", judge: fsync,
		Do: "put /var/lib/etcd onto an SSD with power-loss protection, away from other writers, or choose other control planes"},

	// Its network.
	{ID: "default-route", Severity: Error, What: "it has a default route, from which Ansible and Kubernetes take its address", judge: defaultRoutes, Machine: true,
		Do: "add a default route; on a network without a router, one to any address of the network"},
	{ID: "resolver", Severity: Error, What: "`/etc/resolv.conf` has a name server", judge: resolvers, Machine: true,
		Do: "configure a name server, or set upstream_dns_servers in spec.kubespray.vars"},
	{ID: "resolver-loop", Severity: Error, What: "CoreDNS gets a name server that is not a loopback address", judge: resolverLoops,
		Do: "configure the real name server, or use systemd-resolved: otherwise CoreDNS asks itself and stops"},
	{ID: "resolver-answer", Severity: Warning, What: "its resolver answers within 4 s, also for a name that does not exist", judge: resolverAnswers, Machine: true,
		Do: "remove the name servers that do not answer: each lookup of a playbook waits for them"},
	{ID: "api-address", Severity: Error, What: "it resolves the DNS name in spec.kubernetes.api.address, to another address than its own loopback", judge: apiNames,
		Do: "add the name to the DNS server of the site, or to /etc/hosts in the image, or write the IP address of the load balancer"},
	{ID: "ranges", Severity: Error, What: "the ranges of pods and services overlap with no route, address or name server of it, nor with each other", judge: ranges,
		Do: "choose other ranges: spec.podSubnet and spec.kubernetes.serviceSubnet"},
	{ID: "mtu", Severity: Error, What: "packets of the size of its network card arrive unfragmented at other hosts and at this machine, or a router says that they are too large", judge: mtus,
		Do: "set the same MTU on all network cards and switch ports, or a smaller one on the cards"},
	{ID: "mtu-path", Severity: Warning, What: "no router on the way between hosts asks for smaller packets than those of its network card", judge: smallerPaths,
		Do: "set the MTU of the network cards to that of the way: what crosses it is fragmented or sent twice"},
	{ID: "ports-free", Severity: Error, What: "no other program uses the ports of Kubernetes, etcd and the network plugin", judge: portsFree,
		Do: "stop the program, or choose another host"},
	{ID: "ports-reachable", Severity: Error, What: "no firewall between the hosts closes the TCP ports of Kubernetes, etcd and the network plugin", judge: portsReachable,
		Do: "open the port in the firewalls of both hosts and between them"},
	{ID: "udp-reachable", Severity: Warning, What: "no firewall between the hosts closes the UDP ports of the network plugin", judge: udpReachable,
		Do: "open the port in the firewalls of both hosts and between them. A host that limits its ICMP messages looks the same"},
	{ID: "firewall", Severity: Warning, What: "neither firewalld nor ufw runs on it", judge: firewalls,
		Do: "switch it off, or open the ports of docs/checks.md and forward the ranges of pods and services"},
	{ID: "depot", Severity: Error, What: "it reaches the depot, over https with the CA of the settings", judge: depots, Machine: true,
		Do: "correct depot-url and depot-ca of ConfigMap config-bpa, the clock, the route or the firewall"},
	{ID: "depot-throughput", Severity: Warning, What: "8 MiB from the depot arrive with at least 5 MiB/s", judge: throughputs,
		Do: "see whether a link runs at 100 Mb/s or has errors: each node downloads about 2 GiB"},

	// The objects of the site.
	{ID: "site-kinds", Severity: Error, Elsewhere: "PrerequisitesMissing", What: "the cluster has the kinds of BPA, Metal3 and Tekton *(only `check site`)*", judge: ofSite(func(s *Site) string { return s.Kinds }), Machine: true,
		Do: "install what is missing: docs/install.md"},
	{ID: "site-settings", Severity: Error, Elsewhere: "InvalidSettings", What: "the settings of ConfigMap config-bpa are valid, with depot-url *(only `check site`)*", judge: ofSite(func(s *Site) string { return s.Settings }), Machine: true,
		Do: "correct the ConfigMap with the command in the message; without valid settings no run starts"},
	{ID: "site-ssh-key", Severity: Error, Elsewhere: "SSHKeyMissing", What: "the namespace has the Secret with the SSH key of the site *(only `check site`)*", judge: ofSite(func(s *Site) string { return s.SSHKey }), Machine: true,
		Do: "make it: kubectl create secret generic ssh-key --type=kubernetes.io/ssh-auth --from-file=ssh-privatekey=FILE"},
	{ID: "site-hosts", Severity: Warning, Elsewhere: "HostsNotAvailable", What: "the namespace has a BareMetalHost *(only `check site`)*", judge: ofSite(func(s *Site) string { return s.Hosts }), Machine: true,
		Do: "register the servers: docs/install.md"},
}

// ofSite makes a check of an object of the site.
func ofSite(problem func(s *Site) string) func(w *world) {
	return func(w *world) {
		if w.in.Site != nil && problem(w.in.Site) != "" {
			w.say(Failed, "", problem(w.in.Site))
		}
	}
}
