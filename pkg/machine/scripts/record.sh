# What the playbooks change in place, and cannot be told from the changed machine.

# Kernel parameters that kubespray, kubeadm, the kubelet or kube-proxy set.
parameters="net.ipv4.ip_forward net.ipv4.conf.all.forwarding net.ipv6.conf.all.forwarding net.ipv4.conf.all.route_localnet net.ipv4.ip_local_reserved_ports
net.ipv4.conf.all.arp_notify net.bridge.bridge-nf-call-iptables net.bridge.bridge-nf-call-ip6tables net.bridge.bridge-nf-call-arptables
kernel.keys.root_maxbytes kernel.keys.root_maxkeys kernel.panic kernel.panic_on_oops vm.overcommit_memory vm.panic_on_oom
fs.inotify.max_user_instances fs.may_detach_mounts net.netfilter.nf_conntrack_max net.netfilter.nf_conntrack_tcp_timeout_established
net.netfilter.nf_conntrack_tcp_timeout_close_wait"
# Files that kubespray edits.
edited="/etc/hosts /etc/hostname /etc/sysctl.conf /etc/fstab /etc/gai.conf /etc/apt/apt.conf.d/50unattended-upgrades /etc/machine-info"
# Folders that Ansible or a playbook may create. They are removed if they are new and empty.
hollow="/etc/bash_completion.d /etc/modules-load.d /etc/modprobe.d /usr/lib/modules /root/.ansible/tmp /root/.ansible"

parameter() { cat "$R/proc/sys/$(echo "$1" | tr . /)" 2>/dev/null; }

record() {
  { kube_paths; shared_paths; } | while read -r p; do
    if filled "$R$p"; then echo "path $p"; elif [ -d "$R$p" ]; then echo "empty $p"; fi
  done
  for p in $hollow; do [ ! -d "$R$p" ] || echo "folder $p"; done
  [ ! -L "$R/etc/sysctl.d/99-sysctl.conf" ] || echo "sysctl-link $(readlink "$R/etc/sysctl.d/99-sysctl.conf")"
  for p in $parameters; do [ ! -e "$R/proc/sys/$(echo "$p" | tr . /)" ] || echo "parameter $p $(parameter "$p" | tr "\t" " ")"; done
  cut -d " " -f 2 "$R/proc/mounts" | sed "s/^/mount /"
  ls "$R/run/netns" 2>/dev/null | sed "s/^/netns /"
  ls "$R/sys/class/net" | sed "s/^/link /"
  for f in -4 -6; do quick ip $f route show table all 2>/dev/null | sed "s/ linkdown//; s/ dead//; s/ *$//; s/^/route $f /"; done
  cut -d : -f 1 "$R/etc/passwd" | sed "s/^/user /"
  cut -d : -f 1 "$R/etc/group" | sed "s/^/group /"
  for f in $(filters); do quick "$f-save" 2>/dev/null | sed -n "s/^:\(CNI-[^ ]*\) .*/chain \1/p"; done
  tail -n +2 "$R/proc/swaps" 2>/dev/null | cut -d " " -f 1 | cut -f 1 | sed "s/^/swap /"
  echo "hostname $(cat "$R/proc/sys/kernel/hostname")"
  if has systemctl; then
    for u in containerd.service docker.service crio.service; do if quick systemctl is-active --quiet "$u"; then echo "active $u"; fi; done
    case $(quick systemctl is-enabled swap.target 2>/dev/null) in masked*) echo masked swap.target ;; esac
  fi
}
