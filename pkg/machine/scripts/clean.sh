# Removes what a cluster left on the machine. Each step can run again after an interruption. The
# record, the save and the mark are removed last, so that an interrupted run is noticed.

evidence=$(kubernetes)
used=; if marked || [ "$evidence" ]; then used=1; fi
unmount() { quick umount "$R$1" 2>/dev/null || quick umount -l "$R$1"; }
# erase removes a path. A mount point and a folder that the machine had before stay, empty.
erase() {
  if [ -d "$R$1" ] && [ ! -L "$R$1" ] && { mountpoint -q "$R$1" || was empty "$1"; }; then
    timeout -k 5 300 find "$R$1" -xdev -mindepth 1 -delete
  else timeout -k 5 300 rm -rf --one-file-system "$R$1"; fi
}

stop_units() {
  has systemctl || return 0
  for u in kubelet.service k8s-certs-renew.timer cri-dockerd.socket cri-dockerd.service crio.service containerd.service calico-node.service etcd.service etcd-events.service; do
    [ -e "$R/etc/systemd/system/$u" ] && ! was path "/etc/systemd/system/$u" || continue
    timeout -k 5 60 systemctl disable "$u" 2>/dev/null; timeout -k 5 60 systemctl stop "$u" || timeout -k 5 30 systemctl kill -s KILL "$u"
  done
}
# kill_processes waits until killed processes are gone, because their mounts are in use until then.
kill_processes() {
  for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    pids=$(processes | cut -d " " -f 1); [ "$pids" ] || return 0
    kill -KILL $pids 2>/dev/null; sleep 0.5
  done
}
remove_rules() {
  for f in $(filters); do
    # A program may change a rule between reading and removing, and then nothing is removed.
    for try in 1 2 3; do
      rules "$f" batch >"$saved/batch"; [ -s "$saved/batch" ] || break
      if quick "$f-restore" -w 10 --noflush <"$saved/batch"; then break; fi
    done
  done
  tables | while read -r family name; do quick nft delete table "$family" "$name"; done
  for s in $(sets); do quick ipset destroy "$s"; done
}
remove_services() {
  [ -e "$R/sys/class/net/kube-ipvs0" ] && has ipvsadm || return 0
  for a in $(quick ip -o addr show dev kube-ipvs0 | sed -n "s|.* inet6* \([^ /]*\).*|\1|p"); do
    case $a in *:*) a="[$a]" ;; esac
    quick ipvsadm -Sn | grep -F -- " $a:" | sed -n "s/^-A \(-[tu]\) \([^ ]*\).*/-D \1 \2/p" | while read -r d kind service; do quick ipvsadm "$d" "$kind" "$service"; done
  done
}
remove_links() {
  addresses | while read -r a l; do quick ip addr del "$a/32" dev "$l"; done
  for n in $(namespaces); do quick umount -l "$R/run/netns/$n" 2>/dev/null; rm -f "$R/run/netns/$n"; done
  for l in $(links | sort -u); do
    if [ "$l" = tunl0 ]; then quick ip addr flush dev tunl0; quick ip link set tunl0 down
    else quick ip link delete "$l" || [ ! -e "$R/sys/class/net/$l" ]; fi
  done
  routes | while read -r f r; do quick ip $f route del $r; done
}
remove_accounts() {
  accounts | while read -r kind name; do
    [ "$kind" = group ] || quick userdel "$name"
    if grep -q "^$name:" "$R/etc/group"; then quick groupdel "$name"; fi
  done
}
remove_paths() {
  if has lsattr && has chattr && [ -d "$R/var/lib/kubelet" ]; then
    timeout -k 5 60 lsattr -aR "$R/var/lib/kubelet" 2>/dev/null | sed -n "s/^[^ ]*i[^ ]* //p" | while read -r p; do quick chattr -i "$p"; done
  fi
  # The lists of packages of the depot have its URL in their names.
  uri=$(sed -n "s|^URIs: [a-z]*://||p" "$R/etc/apt/sources.list.d/bpa-depot.sources" 2>/dev/null | head -n 1 | tr / _)
  [ -z "$uri" ] || rm -f "$R/var/lib/apt/lists/$uri"*
  left_paths | while read -r p; do erase "$p"; done
  for l in "$R"/etc/systemd/system/*.wants/*.service "$R"/etc/systemd/system/*.wants/*.timer; do
    case ${l##*/} in kubelet.service | containerd.service | crio.service | cri-dockerd.service | etcd.service | etcd-events.service | k8s-certs-renew.timer) [ -e "$l" ] || [ ! -L "$l" ] || rm -f "$l" ;; esac
  done
}
update_trust() {
  if [ -d "$R/etc/pki/ca-trust/source/anchors" ] && has update-ca-trust; then timeout -k 5 120 update-ca-trust extract
  elif has update-ca-certificates; then timeout -k 5 120 update-ca-certificates --fresh; fi >&2
}
