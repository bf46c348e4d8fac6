# Prints the state of a machine, in sections. It leaves out what changes by itself: counters, kernel threads,
# sessions, and links of the kernel with an address that is random.
export LC_ALL=C
echo "== processes"; ps -eo args --no-headers | grep -vE "^(\[|ps |sh |sort|grep|sed|uniq|sleep 0)|sshd|systemd-(journal|user|hostnamed|timedated)|\(sd-pam\)" | sort | uniq -c
echo "== mounts"; cut -d " " -f 1-3 /proc/mounts | sort
echo "== links"; ip -o link | sed -E "s/^[0-9]+: //; s/@[^:]*:/:/; s/ (qdisc|mode|group|qlen|state|mtu) [^ ]+//g; s/link-netns(id)? [^ ]+//"
echo "== addresses"; ip -o addr | sed "s/^[0-9]*: //" | grep -v fe80
echo "== routes"; ip route show table all | sort; ip -6 route show table all | sort
echo "== rules"; ip rule; ip -6 rule
echo "== namespaces"; ls /run/netns 2>/dev/null
# A table without rules is the same as no table.
for f in iptables ip6tables iptables-legacy ip6tables-legacy; do
  echo "== $f"; $f-save 2>/dev/null | sed "s/ \[[0-9]*:[0-9]*\]//" | awk "/^\*/ { table = \$0; next } /^#|^COMMIT|^:[A-Z]+ ACCEPT\$/ { next } { print table, \$0 }"
done
echo "== nft"; nft -s list ruleset 2>/dev/null
echo "== ipset"; ipset save 2>/dev/null
echo "== units"; systemctl list-unit-files --no-legend --no-pager | awk "{ print \$1, \$2 }" | sort
echo "== active"; systemctl list-units --no-legend --no-pager --all --plain | awk "{ print \$1, \$2, \$3, \$4 }" | grep -vE "\.(device|mount|scope|slice|timer)|^(systemd-(hostnamed|timedated|tmpfiles-clean)|user@|user-runtime-dir@|apt-daily|dpkg-db)" | sort
echo "== sysctl"; sysctl -a 2>/dev/null | grep -vE "random|nr_|state|conntrack_count|inode|dentry|ns_last_pid|fs\.file|fs\.quota|\.(br-site|site0)\." | sort
echo "== packages"; dpkg -l | awk "/^ii/ { print \$2, \$3 }"
echo "== files"; for r in / /run /tmp /var/lib/containerd /var/lib/kubelet /var/lib/etcd; do find $r -xdev \( -path /proc -o -path /sys -o -path /run/systemd -o -path /run/log -o -path /run/udev -o -path /run/user -o -path "/tmp/systemd-private*" \) -prune -o -printf "%y %m %u:%g %p -> %l\n"; done | sort -k 4 -u
echo "== sums"; for r in / /var/lib/containerd /var/lib/kubelet /var/lib/etcd; do find $r -xdev \( -path /proc -o -path /sys -o -path /var/log \) -prune -o -type f -print0 | xargs -0 -r sha256sum; done | sort -k 2
