# Lists of what a Kubernetes cluster leaves on a machine. inspect.sh reports what these lists find,
# and clean.sh removes it, so that both agree. Go removes lines that begin with # before it sends a
# script. A script is sent within single quotes, so the other lines contain no single quote. A test
# replaces the values of PATH and R.

PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin"
R=
export LC_ALL=C; set -u; umask 022
before=$R/etc/bpa/before; saved=$R/etc/bpa/reset; had=$before/had

has() { command -v "$1" >/dev/null 2>&1; }
# quick runs a command that must not take long. A command that hangs is killed.
quick() { timeout -k 5 30 "$@"; }
# was succeeds if the record that mark.sh wrote has a line "KIND NAME": the machine had this before
# BPA changed it, so it belongs to the site.
was() { [ -e "$had" ] && grep -qxF -- "$1 $2" "$had"; }
packaged() {
  if has dpkg-query; then quick dpkg-query -S "$1"; elif has rpm; then quick rpm -qf "$1"; else false; fi >/dev/null 2>&1
}
# filled succeeds if a path exists and is not an empty folder.
filled() { [ -e "$1" ] || [ -L "$1" ] || return 1; [ ! -d "$1" ] || [ -L "$1" ] || [ -n "$(ls -A "$1" 2>/dev/null)" ]; }

# Paths of Kubernetes alone. kubeletstate.go of the task kubespray writes the drop-in of kubelet.service.
kube_paths() {
  for p in kubernetes ssl/etcd etcd.env etcd-events.env kubeadm-patches systemd/system/kubelet.service systemd/system/kubelet.service.d \
    systemd/system/etcd.service systemd/system/etcd.service.d systemd/system/etcd-events.service systemd/system/calico-node.service \
    systemd/system/k8s-certs-renew.service systemd/system/k8s-certs-renew.timer; do echo "/etc/$p"; done
  for p in kubelet kubeadm etcd-scripts etcd-events kubernetes-scripts k8s-certs-renew.sh; do echo "/usr/local/bin/$p"; done
  for p in kubelet etcd etcd-events kube-proxy kube-router calico systemd/timers/stamp-k8s-certs-renew.timer; do echo "/var/lib/$p"; done
  echo /usr/libexec/kubernetes; echo /run/kubernetes
}

# Paths that kubespray or the CNIs create, but a site can also have for another purpose.
shared_paths() {
  for p in cni containerd nerdctl crictl.yaml calico cilium flannel crio cri-dockerd.conf kata-containers \
    systemd/system/containerd.service systemd/system/containerd.service.d systemd/system/crio.service systemd/system/crio.service.d \
    systemd/system/cri-dockerd.service systemd/system/cri-dockerd.socket systemd/resolved.conf.d/kubespray.conf \
    NetworkManager/conf.d/calico.conf NetworkManager/conf.d/k8s.conf NetworkManager/conf.d/dns.conf \
    bash_completion.d/kubectl.sh bash_completion.d/helm.sh bash_completion.d/crictl bash_completion.d/nerdctl \
    modules-load.d/kube_proxy-ipvs.conf modules-load.d/kubespray-br_netfilter.conf modules-load.d/kubespray-kata-containers.conf \
    modules-load.d/nf_conntrack.conf modules-load.d/ip_vs.conf modules-load.d/ip_vs_rr.conf modules-load.d/ip_vs_wrr.conf modules-load.d/ip_vs_sh.conf \
    sysctl.d/99-kubernetes.conf sysctl.d/ipv4-ip_forward.conf sysctl.d/bridge-nf-call.conf \
    dhcp/dhclient.d/zdnsupdate.sh dhcp/dhclient-exit-hooks.d/zdnsupdate; do echo "/etc/$p"; done
  for p in kubectl helm etcd etcdctl etcdctl.sh etcdutl calicoctl calicoctl.sh calico-upgrade cilium crictl critest nerdctl netctl skopeo yq crio \
    cri-dockerd crun youki runsc containerd-shim-runsc-v1 containerd-shim-kata-qemu-v2 containerd containerd-shim containerd-shim-runc-v1 \
    containerd-shim-runc-v2 containerd-stress ctd-decoder ctr runc; do echo "/usr/local/bin/$p"; done
  for p in containerd cni nerdctl bpa-installed crio; do echo "/var/lib/$p"; done
  for p in containerd cni kata; do echo "/opt/$p"; done
  for p in containerd nerdctl nri flannel calico cilium crio runc kubeadm-join.yaml; do echo "/run/$p"; done
  for p in calico openvswitch ovn kube-ovn pods containers kubernetes; do echo "/var/log/$p"; done
  for p in .kube .helm .config/helm .cache/helm .local/share/helm kube-manifests; do echo "/root/$p"; done
  # Snapshots of etcd contain the Secrets of the cluster.
  for f in "$R"/var/backups/etcd-[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]_*; do [ ! -e "$f" ] || echo "${f#"$R"}"; done
  echo /tmp/releases
}

# Paths of BPA on a node, except /etc/bpa. trust.go and aptsource.go of the task kubespray write the
# depot's files, modules.py of package acceleration writes the folder for Ansible's modules, and prefetch.yml of
# the task kubespray the folder beside /tmp/releases.
bpa_paths() {
  for p in /usr/local/share/ca-certificates /etc/pki/ca-trust/source/anchors /etc/pki/trust/anchors; do
    for f in "$R$p"/bpa-depot*.crt "$R$p"/etcd-ca.crt "$R$p"/kube-ca.crt "$R$p"/etcd-ca.pem; do [ ! -e "$f" ] || echo "${f#"$R"}"; done
  done
  for f in "$R"/run/bpa-ansible-*; do [ ! -e "$f" ] || echo "${f#"$R"}"; done
  echo /etc/apt/sources.list.d/bpa-depot.sources; echo /etc/apt/apt.conf.d/90bpa-depot; echo /tmp/releases.bpa
}

# marked succeeds if BPA has used this machine.
marked() { [ -e "$R/etc/bpa/used-by" ] || [ -e "$R/etc/bpa/depot-ca.crt" ] || [ -e "$before" ] || [ -e "$saved/done" ]; }

# left_paths prints the paths that a reset must remove. Paths that can also belong to the site count
# only if a cluster was here and neither the record nor a package says that they are of the site.
left_paths() {
  { kube_paths; if [ "$used" ]; then shared_paths; fi; bpa_paths; } | while read -r p; do
    filled "$R$p" || { [ -d "$R$p" ] && ! was empty "$p" && ! mountpoint -q "$R$p" && [ "$used" ]; } || continue
    was path "$p" || packaged "$p" || echo "$p"
  done
}

# processes prints "PID NAME" of the processes of the cluster: containers with everything below them,
# and programs of the cluster that run outside of a container. A container of the site, such as one of
# Docker, is not in the list.
processes() {
  own=$(stat -Lc %d:%i "$R/proc/1/root/.")
  {
    cat "$R"/proc/[0-9]*/stat 2>/dev/null | sed "s/^\([0-9]*\) (\(.*\)) . \([0-9]*\) .*/stat \1 \3 \2/"
    grep -lzx k8s.io "$R"/proc/[0-9]*/cmdline 2>/dev/null | sed "s|.*/\([0-9]*\)/cmdline|k8s \1|"
    sed "s/^/init /" "$R/proc/1/cgroup" 2>/dev/null
    grep -H kubepods "$R"/proc/[0-9]*/cgroup 2>/dev/null | sed "s|^[^:]*/\([0-9]*\)/cgroup:|cgroup \1 |"
    ls -l "$R"/proc/[0-9]*/exe 2>/dev/null | sed -n "s|.*/proc/\([0-9]*\)/exe -> \(.*\)|\1 \2|p" | sed "s/ (deleted)$//; s| $R/| /|" |
      grep -E " /(usr/local/bin/(kubelet|kubeadm|etcd|containerd|containerd-shim[a-z0-9-]*|crio|cri-dockerd)|usr/bin/kubelet)$" |
      while read -r pid exe; do
        [ "$(stat -Lc %d:%i "$R/proc/$pid/root/." 2>/dev/null)" != "$own" ] || was path "$exe" || echo "exe $pid"
      done
  } | awk -v self=$$ "
    function base(line) { sub(/^[0-9]*:[^:]*:/, \"\", line); return line }
    function kind(line) { sub(/:[^:]*\$/, \"\", line); return line }
    \$1 == \"stat\" { pid = \$2; up[pid] = \$3; \$1 = \$2 = \$3 = \"\"; sub(/^ */, \"\"); name[pid] = \$0 }
    \$1 == \"k8s\" { arg[\$2] = 1 }
    \$1 == \"init\" { sub(/^init /, \"\"); top = base(\$0); sub(/\/init.scope\$/, \"\", top); root[kind(\$0)] = top }
    \$1 == \"cgroup\" { pid = \$2; sub(/^cgroup [0-9]* /, \"\"); path = base(\$0); top = root[kind(\$0)]
      if (top != \"/\" && index(path, top) == 1) path = substr(path, length(top) + 1)
      if (path ~ /kubepods/) seed[pid] = 1 }
    \$1 == \"exe\" { seed[\$2] = 1 }
    END {
      for (pid in arg) if (name[pid] ~ /^containerd-shim/) seed[pid] = 1
      for (pid = self; pid > 0; pid = up[pid]) keep[pid] = 1
      for (pid in name) for (at = pid; at > 1; at = up[at]) if (at in seed) { if (!(pid in keep) && pid > 1) print pid, name[pid]; break }
    }" | sort -n
}

# kubernetes prints the evidence of a Kubernetes, of whatever distribution.
kubernetes() {
  cat "$R"/proc/[0-9]*/stat 2>/dev/null | sed -n "s/^\([0-9]*\) (\(kubelet\|kube-apiserver\|k3s\|k3s-server\|k3s-agent\|rke2\|k0s\|kubelite\)) .*/process \2 (\1)/p" | sort
  for p in /etc/systemd/system/kubelet.service /var/lib/kubelet/config.yaml /var/lib/kubelet/kubeconfig /var/lib/etcd/member \
    /etc/rancher/k3s /etc/rancher/rke2 /var/lib/rancher /var/lib/k0s /var/snap/microk8s; do [ ! -e "$R$p" ] || echo "$(word "$p") $p"; done
  [ -z "$(find "$R/etc/kubernetes" ! -type d 2>/dev/null | head -n 1)" ] || echo "directory /etc/kubernetes"
}
word() { if [ -d "$R$1" ] && [ ! -L "$R$1" ]; then echo directory; else echo file; fi; }

mounts() {
  cut -d " " -f 2 "$R/proc/mounts" | grep -E "^(/var/lib/kubelet|/var/lib/containerd|/run/containerd|/run/crio|/var/lib/containers/storage|/run/cilium|/run/calico|/var/lib/calico)/.|^(/var)?/run/netns/cni-" |
    sort -ru | while read -r m; do was mount "$m" || echo "$m"; done
}
namespaces() { ls "$R/run/netns" 2>/dev/null | grep -E "^cni-" | while read -r n; do was netns "$n" || echo "$n"; done; }
links() {
  ls "$R/sys/class/net" 2>/dev/null | grep -E "^(cni0|cbr0|kube-bridge|kube-dummy-if|kube-ipvs0|nodelocaldns|flannel(-v6)?\.[0-9]+|cali[0-9a-f]{11}|vxlan(-v6)?\.calico|wireguard\.cali|wg-v6\.cali|cilium_[a-z0-9]+|lxc_health|lxc[0-9a-f]{12}|weave|vethwe[a-z0-9-]*|antrea-gw0|ovn0)$" |
    while read -r l; do was link "$l" || echo "$l"; done
  # The ipip module creates tunl0, which cannot be deleted. Only its addresses are of Calico.
  [ ! -e "$R/sys/class/net/tunl0" ] || was link tunl0 || [ -z "$(quick ip -o addr show dev tunl0 2>/dev/null)" ] || echo tunl0
  for l in "$R"/sys/class/net/cni0/brif/veth* "$R"/sys/class/net/kube-bridge/brif/veth*; do [ ! -e "$l" ] || echo "${l##*/}"; done
}
# routes prints routes of CNIs as "FAMILY ROUTE". They have a protocol without a name, such as 80 of
# Calico, or are of its BIRD. Routes through links of CNIs disappear with their link.
routes() {
  [ "$used" ] || return 0
  for f in -4 -6; do
    quick ip $f route show table all 2>/dev/null | grep -E " proto ([0-9]+|bird)( |$)" | sed "s/ linkdown//; s/ dead//; s/ *$//; s/^/$f /" |
      while read -r r; do was route "$r" || echo "$r"; done
  done
}
# addresses prints "ADDRESS LINK" of the address of the API servers that moves between control planes. keepalived
# leaves it on the machine if it is killed. Package vip writes the file.
addresses() {
  [ -r "$R/etc/bpa/keepalived/address" ] && read -r a <"$R/etc/bpa/keepalived/address" && [ "$a" ] || return 0
  quick ip -o -4 addr show to "$a/32" 2>/dev/null | sed -n "s/^[0-9]*: *\([^ ]*\) .*/\1/p" | while read -r l; do echo "$a $l"; done
}
units() {
  has systemctl || return 0
  quick systemctl list-units --all --plain --no-legend "kubepods*" "cri-containerd-*" "crio-*" 2>/dev/null | cut -d " " -f 1
  for l in "$R"/etc/systemd/system/*.wants/kubelet.service "$R"/etc/systemd/system/*.wants/etcd.service "$R"/etc/systemd/system/*.wants/etcd-events.service "$R"/etc/systemd/system/*.wants/containerd.service "$R"/etc/systemd/system/*.wants/k8s-certs-renew.timer; do
    [ ! -L "$l" ] || [ -e "$l" ] || echo "${l##*/}"
  done
}
# accounts prints "user NAME" and "group NAME" of the accounts that kubespray creates.
accounts() {
  [ "$used" ] || return 0
  sed -n "s/^\(etcd:[^:]*:[^:]*:[^:]*:Etcd user\|kube:[^:]*:[^:]*:[^:]*:Kubernetes user\):.*/\1/p" "$R/etc/passwd" 2>/dev/null | cut -d : -f 1 |
    while read -r u; do was user "$u" || echo "user $u"; done
  grep -q "^kube-cert:" "$R/etc/group" 2>/dev/null && ! was group kube-cert && echo group kube-cert
}
