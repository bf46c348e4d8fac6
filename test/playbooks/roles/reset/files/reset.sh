#!/bin/bash
# Removes everything that cluster.yml creates. The machine may be partly installed or blank, so each
# step may find nothing.
set -u
[ -e /etc/kubernetes ] || [ -e /etc/systemd/system/kubelet.service ] || [ -e /var/lib/bpa-installed ] || exit 0
systemctl disable --now kubelet 2>/dev/null
if [ -x /usr/local/bin/kubeadm ]; then
	timeout 120 /usr/local/bin/kubeadm reset --force --cri-socket unix:///run/containerd/containerd.sock >/dev/null 2>&1
fi
systemctl disable --now containerd 2>/dev/null
pkill -f '^/usr/local/bin/containerd-shim-runc-v2 ' # containers keep running without containerd
findmnt -rno TARGET | grep -E '^(/var/lib/kubelet|/var/lib/containerd|/run/containerd|/run/netns|/var/run/netns)/' | sort -r | xargs -r umount -l
ip link delete cni0 2>/dev/null
ip route flush proto 76 2>/dev/null # of test/lab/modules/network
for table in filter nat mangle; do iptables -t $table -F && iptables -t $table -X; done
# Delete the contents of the folders and keep the folders, because they can be mount points.
for dir in /etc/kubernetes /etc/cni /etc/containerd /opt/cni /var/lib/kubelet /var/lib/etcd /var/lib/containerd /var/lib/cni /var/lib/bpa-installed /run/containerd /var/log/pods /var/log/containers; do
	[ ! -d $dir ] || find $dir -mindepth 1 -delete
done
rm -rf /etc/kubernetes /etc/kubeadm-patches /var/lib/bpa-installed /etc/systemd/system/{kubelet,containerd}.service /etc/sysctl.d/99-kubernetes.conf
rm -f /etc/apt/sources.list.d/bpa-depot.sources /etc/apt/apt.conf.d/90bpa-depot
rm -f /usr/local/bin/{kubelet,kubeadm,kubectl,runc,containerd,containerd-shim-runc-v2,ctr}
systemctl daemon-reload
for left in /etc/kubernetes /usr/local/bin/kubelet; do [ ! -e $left ] || { echo "$left still exists" >&2; exit 1; }; done
echo changed
