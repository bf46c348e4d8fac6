#!/bin/bash
# Removes what cluster.yml creates, except what kubespray's reset leaves too (see README.md). The
# machine may be partly installed or blank, so each step may find nothing.
set -u
[ -e /etc/kubernetes ] || [ -e /etc/systemd/system/kubelet.service ] || [ -e /var/lib/bpa-installed ] || exit 0
pkill --exact --signal KILL kubeadm # it may still run if only the Ansible controller was killed
systemctl disable --now kubelet 2>/dev/null
# kubeadm unmounts volumes and removes all pods. The member of etcd is not removed from its cluster,
# because this asks the other control planes, and the whole cluster is removed.
if [ -x /usr/local/bin/kubeadm ] && [ -S /run/containerd/containerd.sock ]; then
	timeout 120 /usr/local/bin/kubeadm reset --force --skip-phases=remove-etcd-member --cri-socket unix:///run/containerd/containerd.sock >/dev/null 2>&1
fi
systemctl disable --now containerd 2>/dev/null
pkill -f '^/usr/local/bin/containerd-shim-runc-v2 ' # containers keep running without containerd
findmnt -rno TARGET | grep -E '^(/var/lib/kubelet|/var/lib/containerd|/run/containerd)/|^/(var/)?run/netns/cni-' | sort -r | xargs -r umount -l
rm -rf /etc/systemd/system/{kubelet,containerd}.service /run/systemd/system/kubelet.service.d
systemctl daemon-reload
# Delete the contents of folders before the folders, because some are mount points and remain.
for dir in /etc/kubernetes /etc/nginx /etc/cni /opt/cni /var/lib/{kubelet,etcd,containerd,cni,bpa-installed} /var/log/{pods,containers}; do
	[ ! -d "$dir" ] || { find "$dir" -mindepth 1 -delete; rmdir "$dir" 2>/dev/null; }
done
rm -rf /root/.kube
rm -f /etc/sysctl.d/99-kubernetes.conf /usr/local/bin/{kubelet,kubeadm,kubectl,runc,ctr,containerd,containerd-{shim-runc-v2,stress}}
for left in /etc/kubernetes /usr/local/bin/kubelet /var/lib/kubelet/config.yaml; do
	[ ! -e "$left" ] || { echo "$left still exists" >&2; exit 1; }
done
echo changed
