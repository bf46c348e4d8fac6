# Prints facts about the machine, one in a line: a keyword and its values. "end" is the last line.
#
# The lines before this script set: paths, etcd_dir, tcp_ports, udp_ports, features, options, ping_back, pings, knocks,
# depot_url, depot_ca and api_name. $1 is SSH_CONNECTION of the login. The script needs only a POSIX shell with the usual small
# programs; a fact without its program is missing. It writes nothing but a folder of its own beside the data of etcd,
# which it removes, and each part of it has a limit of its time. As root, it can load a kernel module that the
# cluster needs, if nothing else tells whether the kernel has it.
#
# All of it is one function, so that the shell has read it before a program can read from the same input.
main() {
export LC_ALL=C PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"
unset CDPATH ENV BASH_ENV SSH_CLIENT
umask 077
say() { printf '%s\n' "$*"; }
has() { command -v "$1" >/dev/null 2>&1; }
limit() { seconds=$1; shift; if has timeout; then timeout "$seconds" "$@"; else "$@"; fi; }
now() { t=$(date +%s.%N); case $t in *[!0-9.]*|*.) t=$(date +%s) ;; esac; printf '%s' "$t"; }
line() { head -n 1 "$1" 2>/dev/null | cut -c 1-200; }

say clock "$(now)"
uid=$(id -u)
say uid "$uid"
say user "$(id -un 2>/dev/null)"

# Who it is.
say kernel "$(uname -r)"
say arch "$(uname -m)"
say hostname "$(uname -n)"
identity
sed -n 's/^ID=["'\'']\{0,1\}\([A-Za-z0-9._-]*\).*/osid \1/p; s/^VERSION_ID=["'\'']\{0,1\}\([A-Za-z0-9._-]*\).*/osversion \1/p' /etc/os-release 2>/dev/null
say init "$(line /proc/1/comm)"
say machineid "$(line /etc/machine-id)"
if [ -e /sys/class/dmi/id/product_uuid ]; then say uuid "$(line /sys/class/dmi/id/product_uuid)"; fi

# How long its resolver takes. The rest goes on meanwhile.
if has getent; then (
  begin=$(date +%s)
  limit 5 getent ahosts bpa-check.invalid >/dev/null 2>&1
  say lookup $(($(date +%s) - begin))
) & fi

# The name of the API servers: the status of getent (124: its time was over), and what it has found.
if [ -n "$api_name" ] && has getent; then (
  found=$(limit 5 getent ahosts "$api_name" 2>/dev/null)
  status=$?
  if [ $status != 0 ]; then found=$(limit 8 getent ahosts "$api_name" 2>/dev/null); status=$?; fi # a busy machine is slow
  say apiname $status $(printf '%s\n' "$found" | head -n 9 | cut -d ' ' -f 1 | sort -u)
) & fi

# Its size.
say cpus "$(getconf _NPROCESSORS_ONLN 2>/dev/null || grep -c '^processor' /proc/cpuinfo)"
sed -n 's/^MemTotal: *\([0-9]*\) kB.*/memory \1/p' /proc/meminfo
if [ -r /proc/swaps ]; then sed -n '1s/.*/swaps/p; 2,20s/^\([^[:space:]]*\).*/swap \1/p' /proc/swaps; fi

# Its system.
say cgroup "$(stat -fc %T /sys/fs/cgroup 2>/dev/null)"
if [ -r /sys/fs/cgroup/cgroup.controllers ]; then say controllers "$(cat /sys/fs/cgroup/cgroup.controllers)"
else say controllers "$(awk '!/^#/ && $4 == 1 {printf "%s ", $1}' /proc/cgroups 2>/dev/null)"; fi
if [ -r /sys/fs/selinux/enforce ]; then say selinux "$(line /sys/fs/selinux/enforce)"; fi
if [ -r /sys/module/apparmor/parameters/enabled ]; then say apparmor "$(line /sys/module/apparmor/parameters/enabled)"; fi
for tool in apparmor_parser awk bash curl getent ip ping python3 systemctl tar timeout unshare wget; do
  if has $tool; then say tool $tool; fi
done
cat /proc/[0-9]*/comm 2>/dev/null | sort -u | grep -xE 'chronyd|ntpd|openntpd|systemd-timesyn|ptp4l|phc2sys|systemd-resolve|kubelet|etcd|kube-apiserver|k3s|rke2|firewalld' |
  while read -r name; do say process "$name"; done
for file in /etc/kubernetes/kubelet.conf /etc/kubernetes/admin.conf /etc/kubernetes/manifests /etc/rancher; do
  if [ -e $file ]; then say kubernetes $file; fi
done
if grep -qs '^ENABLED=yes' /etc/ufw/ufw.conf; then say firewall ufw; fi
if has timedatectl; then say synchronized "$(limit 3 timedatectl show -p NTPSynchronized --value 2>/dev/null)"; fi

# Its disks.
for path in $paths; do
  at=$path
  while [ ! -d "$at" ] && [ -n "$at" ]; do at=${at%/*}; done
  at=${at:-/}
  if [ "$path" = "$etcd_dir" ]; then etcd_at=$at; fi
  say disk "$path" "$(stat -c %d "$at" 2>/dev/null)" "$(stat -f -c '%S %b %a %c %d' "$at" 2>/dev/null)"
  awk -v path="$path" -v at="$at/" '{ p = $5 == "/" ? "/" : $5 "/" } index(at, p) == 1 && length(p) >= best { best = length(p); point = $5; how = $6 }
    END { if (best) print "mount", path, point, how }' /proc/self/mountinfo 2>/dev/null
done

# Its network.
sed -n 's/^nameserver[[:space:]]\{1,\}\([^[:space:]]*\).*/nameserver \1/p' /etc/resolv.conf 2>/dev/null | head -n 20
sed -n 's/^nameserver[[:space:]]\{1,\}\([^[:space:]]*\).*/upstream \1/p' /run/systemd/resolve/resolv.conf 2>/dev/null | head -n 20
for f in 4 6; do
  limit 5 ip -$f -o route show 2>/dev/null | head -n 1000 | awk '{ to = $1; if (to ~ /^(unicast|blackhole|unreachable|prohibit|throw)$/) to = $2; dev = "-"
    for (i = 1; i < NF; i++) if ($i == "dev") dev = $(i + 1)
    print "route", to, dev }'
done
limit 5 ip -o addr show 2>/dev/null | head -n 1000 | awk '$3 == "inet" || $3 == "inet6" { print "address", $2, $4 }'
for tcp in tcp tcp6; do
  awk -v want=" $tcp_ports " 'FNR > 1 && $4 == "0A" { split($2, a, ":"); if (index(want, " " a[2] " ")) print "listen tcp", a[2], a[1] }' /proc/net/$tcp 2>/dev/null
done
for udp in udp udp6; do
  awk -v want=" $udp_ports " 'FNR > 1 && $4 == "07" { split($2, a, ":"); if (index(want, " " a[2] " ")) print "listen udp", a[2], a[1] }' /proc/net/$udp 2>/dev/null
done
if has ss && [ -n "$tcp_ports$udp_ports" ]; then
  limit 5 ss -Hlntup 2>/dev/null | head -n 2000 | awk '{ n = split($5, a, ":"); if (match($0, /users:\(\("[^"]*/)) print "owner", $1, a[n], substr($0, RSTART + 9, RLENGTH - 9) }'
fi

# Its package manager. Locks are found in the kernel, because lsof and fuser are not everywhere. An installation that begins or ends
# meanwhile was not interrupted.
updates() { ls /var/lib/dpkg/updates 2>/dev/null | grep -q '^[0-9]'; }
interrupted=
if updates; then interrupted=yes; fi
for file in /var/lib/dpkg/lock-frontend /var/lib/dpkg/lock /var/lib/apt/lists/lock /var/lib/rpm/.rpm.lock /usr/lib/sysimage/rpm/.rpm.lock; do
  inode=$(stat -c %i $file 2>/dev/null) || continue
  awk -v inode="$inode" '$4 == "WRITE" && $2 != "->" { n = split($6, a, ":"); if (a[n] == inode) { print $5; exit } }' /proc/locks 2>/dev/null |
    while read -r pid; do say lock $file "$(line "/proc/$pid/comm") $pid"; done
done
if [ -n "$interrupted" ] && updates; then say interrupted dpkg; fi

# Its kernel. A module that is only on the disk counts, unless its configuration forbids it.
config() {
  if [ -r /proc/config.gz ]; then gzip -dc /proc/config.gz
  elif [ -r "/boot/config-$(uname -r)" ]; then cat "/boot/config-$(uname -r)"
  else cat "/lib/modules/$(uname -r)/config"; fi 2>/dev/null
}
try() { # in a network of its own, which ends with the command
  if [ "$1" = overlay ] && grep -qw overlay /proc/filesystems; then return 0; fi
  if [ "$uid" != 0 ] || ! has unshare || ! has ip || ! unshare -n true 2>/dev/null; then return 2; fi
  case $1 in
  dummy|veth|ipip) set -- ip link add bpa0 type "$1" ;;
  geneve) set -- ip link add bpa0 type geneve id 1 remote 192.0.2.1 ;;
  vxlan) set -- ip link add bpa0 type vxlan id 1 dstport 4789 ;;
  ip_tables) has iptables || return 2; set -- iptables -w 2 -t nat -S ;;
  nf_tables) has nft || return 2; set -- nft list ruleset ;;
  *) return 2 ;;
  esac
  limit 3 unshare -n "$@" >/dev/null 2>&1 || return 1
}
wanted=$(config | grep -E "^CONFIG_($options)=[ym]")
if [ -n "$wanted" ]; then say config read; fi
for feature in $features; do
  name=${feature%%:*}; option=${feature#*:}; built=
  case "
$wanted
" in
  *"
CONFIG_$option=y
"*) built=yes ;;
  esac
  if [ -n "$built" ]; then say feature $name yes built in
  elif [ -d /sys/module/$name ]; then say feature $name yes loaded
  elif found=$(modprobe -n -v $name 2>/dev/null); then
    case $found in
    *"install "*/false*|*"install "*/true*) say feature $name no its module is disabled in /etc/modprobe.d ;;
    *) say feature $name yes module ;;
    esac
  else
    try $name
    case $? in
    0) say feature $name yes tried ;;
    2) if [ -n "$wanted" ]; then say feature $name no "CONFIG_$option is off, or its module is not installed"; else say feature $name unknown; fi ;;
    *) say feature $name no "an attempt to use it failed" ;;
    esac
  fi
done

# The time that a write of etcd takes: 200 writes, each with a sync. dd measures its own time.
own=
trap 'if [ -n "$own" ]; then rm -rf "$own"; fi' EXIT
trap 'exit 1' HUP INT TERM PIPE
own=$(mktemp -d "${etcd_at:-/tmp}/.bpa-check.XXXXXX" 2>/dev/null || mktemp -d "${TMPDIR:-/tmp}/.bpa-check.XXXXXX" 2>/dev/null)
case $own in
"${etcd_at:-/tmp}/".bpa-check.*)
  file=$own/wal
  if dd if=/dev/zero of="$file" bs=2048 count=200 conv=fsync 2>/dev/null; then
    how="conv=notrunc oflag=dsync"
    dd if=/dev/zero of="$file" bs=2048 count=1 $how 2>/dev/null || how=conv=notrunc,fsync
    n=0; stop=$(($(date +%s) + 2))
    while [ $n -lt 200 ]; do
      took=$(dd if=/dev/zero of="$file" bs=2048 count=1 seek=$n $how 2>&1) || break
      case $took in *"copied, "*) ;; *) break ;; esac
      took=${took##*copied, }
      say fsync "${took%% s*}"
      n=$((n + 1))
      if [ $((n % 10)) = 0 ] && [ "$(date +%s)" -ge $stop ]; then break; fi
    done
  fi ;;
esac

# What it reaches, all at the same time.
range=0-8388607
fetch() {
  if has curl; then
    code=$(curl -sS -m 6 --connect-timeout 4 ${ca:+--cacert "$ca"} -o /dev/null -r $range -w '%{http_code} %{size_download} %{time_total}' "$depot_url" 2>"$own/curl")
    status=$?
    say depot "$status" "$code" "$(line "$own/curl")"
  elif has python3; then
    limit 8 python3 - "$depot_url" "$ca" $range 2>/dev/null <<'END' || say depot 1 0 0 0 python3 failed
import ssl, sys, time, urllib.error, urllib.request
url, ca, part = sys.argv[1:4]
size, code, begin, status, why = 0, 0, time.time(), 0, ""
try:
    context = ssl.create_default_context(cafile=ca or None)
    request = urllib.request.Request(url, headers={"Range": "bytes=" + part})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    with opener.open(request, timeout=4) as answer:
        code = answer.status
        while size < 8388608 and time.time() - begin < 6:
            data = answer.read(65536)
            if not data: break
            size += len(data)
except urllib.error.HTTPError as e:
    code = e.code
except Exception as e:
    status, why = 1, " ".join(str(getattr(e, "reason", e)).split())[:200]
print("depot", status, "%03d" % code, size, "%.3f" % (time.time() - begin), why)
END
  elif has wget; then
    begin=$(now)
    limit 8 wget -q --no-proxy -O /dev/null -T 4 -t 1 ${ca:+--ca-certificate="$ca"} --header "Range: bytes=$range" "$depot_url" >/dev/null 2>&1
    status=$?
    case $status in
    0) say depot 0 206 8388608 "$(awk -v a="$begin" -v b="$(now)" 'BEGIN { print b - a }')" ;;
    8) say depot 0 404 0 0 ;;
    *) say depot $status 000 0 0 "wget failed with status $status" ;;
    esac
  fi
}
if [ -n "$depot_url" ] && [ -n "$own" ]; then (
  case $(uname -m) in
  x86_64) depot_url=$depot_url/amd64/kubelet ;;
  aarch64) depot_url=$depot_url/arm64/kubelet ;;
  *) depot_url=$depot_url/$(uname -m)/kubelet ;;
  esac
  ca=
  if [ -n "$depot_ca" ]; then ca=$own/ca.crt; printf '%s\n' "$depot_ca" >"$ca"; fi
  unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY all_proxy
  got=$(fetch)
  set -- $got
  if [ "${2:-0}" != 0 ] && [ "${4:-0}" = 0 ]; then got=$(fetch); fi # a busy machine is slow
  if [ -n "$got" ]; then say "$got"; fi
) & fi

big() { out=$(limit 3 ping -n -c 1 -W 1 -M do -s $(($2 - head)) "$1" 2>&1); }
reach() {
  head=28
  case $1 in *:*) head=48 ;; esac
  out=$(limit 3 ip -o route get "$1" 2>/dev/null); out=${out##* dev }; out=${out%% *}
  mtu=$(cat "/sys/class/net/$out/mtu" 2>/dev/null)
  if [ -z "$mtu" ] || [ "$out" = lo ]; then return; fi
  if ! big "$1" 84 && ! big "$1" 84; then say ping "$1" "$mtu" 0; return; fi
  frag_needed=
  for size in "$mtu" "$mtu" 8950 1500 1450 1400 1280 576 84; do
    if [ "$size" -gt "$mtu" ]; then continue; fi
    if big "$1" "$size"; then
      if [ "$size" != "$mtu" ] && big "$1" "$mtu"; then size=$mtu; fi # a packet was lost by chance
      say ping "$1" "$mtu" "$size" $frag_needed
      return
    fi
    case $out in *"rag needed"*|*"oo long"*|*"oo big"*) frag_needed=frag-needed ;; esac
  done
  say ping "$1" "$mtu" 0
}
if has ping && has ip && limit 3 ping -n -q -c 1 -W 1 -M do -s 56 127.0.0.1 >/dev/null 2>&1; then
  say df yes
  from=
  if [ -n "$ping_back" ]; then from=${1%% *}; fi
  if [ -n "$from" ]; then say machine "$from"; fi
  for peer in $from $pings; do reach "$peer" & done
fi

# knock tries a port: ADDRESS PROTOCOL PORT SECONDS. Without --norc, a bash below sshd reads .bashrc, which can take long. A port of
# UDP answers the second message that finds it closed. A bash that did not come to its attempt says nothing about the port.
knock() {
  case $2 in
  tcp) out=$(timeout "$4" bash --norc -c "echo begun; exec 3<>/dev/tcp/$1/$3" 2>&1) ;;
  udp) out=$(timeout "$4" bash --norc -c "echo begun; exec 3<>/dev/udp/$1/$3; printf x >&3; sleep 0.4; printf x >&3; sleep 0.4; printf x >&3" 2>&1) ;;
  esac
  status=$?
  case "$status $out" in
  *"onnection refused"*) state=refused ;;
  0*) if [ "$2" = udp ]; then state=silent; else state=open; fi ;;
  "124 begun"*) state=silent ;;
  *"o route to host"*|*prohibited*|*unreachable*|*"not permitted"*) state=rejected ;;
  *) state=failed ;;
  esac
}
if has bash && has timeout; then
  for what in $knocks; do (
    port=${what##*/}; what=${what%/*}
    knock "${what%/*}" "${what##*/}" "$port" 2
    if [ $state = silent ] || [ $state = failed ]; then knock "${what%/*}" "${what##*/}" "$port" 4; fi # a busy machine is slow
    say knock "${what%/*}" "${what##*/}" "$port" $state
  ) & done
fi
wait

say clock "$(now)"
say end
}
main "$1" </dev/null
