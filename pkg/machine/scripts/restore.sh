# Restores what the playbooks changed in place.

# restore_rules restores the site rules of a filter if one of them is gone. It leaves rules that the
# site added since the save.
restore_rules() {
  if [ -s "$saved/ipset" ] && has ipset; then quick ipset -exist restore <"$saved/ipset"; fi
  for f in $(filters); do
    [ -s "$saved/$f.rules" ] || continue
    rules "$f" site >"$saved/now"
    if grep -E "^(-A|:[^ ]* (DROP|ACCEPT|-))" "$saved/$f.rules" | grep -vxF -f "$saved/now" | grep -q .; then
      quick "$f-restore" -w 10 <"$saved/$f.rules" || quick "$f-restore" <"$saved/$f.rules"
    fi
  done
  for t in "$saved"/nft+*; do
    [ -e "$t" ] && has nft || continue
    name=${t##*/nft+}; family=${name%%+*}; name=${name#*+}
    quick nft -s list table "$family" "$name" >"$saved/now" 2>/dev/null
    if grep -vxF -f "$saved/now" "$t" | grep -q .; then
      { echo "table $family $name"; echo "delete table $family $name"; cat "$t"; } | quick nft -f -
    fi
  done
}
restore_network() {
  [ -s "$saved/network" ] || return 0
  site_network >"$saved/now"
  grep -vxF -f "$saved/now" "$saved/network" | while read -r f kind rest; do quick ip $f $kind add $rest; done
}
# sysctl_file removes the parameters that the playbooks wrote into the site's file, and puts back the
# lines that they replaced. Other lines stay, the site can have changed them since.
sysctl_file() {
  f=$R/etc/sysctl.conf; old="$before/+etc+sysctl.conf"
  [ -f "$f" ] && [ -f "$old" ] || return 0
  awk -v names="$parameters" -v old="$old" "
    function key(line) { sub(/[[:space:]]*=.*/, \"\", line); sub(/^[[:space:]]*-?/, \"\", line); return line }
    BEGIN { n = split(names, w); for (i = 1; i <= n; i++) ours[w[i]] = 1
      while ((getline line <old) > 0) { have[line] = 1; if (line !~ /^[[:space:]]*[#;]/ && line ~ /=/) value[key(line)] = line } }
    /^[[:space:]]*[#;]/ || !/=/ { print; next }
    (key(\$0) in ours) && !(\$0 in have) { k = key(\$0); if (k in value) { print value[k]; delete value[k] } next }
    { print }" "$f" >"$saved/now" || return 1
  cmp -s "$saved/now" "$f" || cat "$saved/now" >"$f"
}
restore_sysctl() {
  link=$(sed -n "s/^sysctl-link //p" "$had")
  if [ "$link" ] && [ ! -e "$R/etc/sysctl.d/99-sysctl.conf" ]; then ln -s "$link" "$R/etc/sysctl.d/99-sysctl.conf"
  elif [ -z "$link" ] && [ -f "$R/etc/sysctl.d/99-sysctl.conf" ] && [ ! -L "$R/etc/sysctl.d/99-sysctl.conf" ] && ! packaged /etc/sysctl.d/99-sysctl.conf; then rm -f "$R/etc/sysctl.d/99-sysctl.conf"; fi
  sysctl_file
  sed -n "s/^parameter //p" "$had" | while read -r p v; do
    [ "$(parameter "$p" | tr "\t" " ")" = "$v" ] || echo "$v" >"$R/proc/sys/$(echo "$p" | tr . /)"
  done
}
# restore_hosts removes the block that Ansible writes between these markers.
restore_hosts() {
  if grep -q "^# Ansible inventory hosts BEGIN" "$R/etc/hosts"; then
    sed "/^# Ansible inventory hosts BEGIN/,/^# Ansible inventory hosts END/d" "$R/etc/hosts" >"$saved/now" && cat "$saved/now" >"$R/etc/hosts"
  fi
}
restore_names() {
  name=$(sed -n "s/^hostname //p" "$had")
  if [ "$name" ] && [ "$(cat "$R/proc/sys/kernel/hostname")" != "$name" ]; then echo "$name" >"$R/proc/sys/kernel/hostname"; fi
  for f in /etc/hostname /etc/machine-info; do
    old="$before/$(echo "$f" | tr / +)"
    if [ ! -f "$old" ]; then rm -f "$R$f"; elif ! cmp -s "$old" "$R$f"; then cat "$old" >"$R$f"; fi
  done
  for p in $hollow; do was folder "$p" || [ ! -d "$R$p" ] || rmdir "$R$p" 2>/dev/null; done
}
restore_swap() {
  if grep -q "^masked swap" "$had"; then return 0; fi
  if has systemctl; then case $(quick systemctl is-enabled swap.target 2>/dev/null) in masked*) quick systemctl unmask swap.target ;; esac; fi
  if [ -f "$before/+etc+fstab" ]; then
    awk "\$3 == \"swap\" && !/^#/" "$before/+etc+fstab" | while read -r line; do grep -qxF -- "$line" "$R/etc/fstab" || echo "$line" >>"$R/etc/fstab"; done
  fi
  sed -n "s/^swap //p" "$had" | while read -r s; do grep -q "^$s[[:space:]]" "$R/proc/swaps" || quick swapon "$s"; done
}
restore_services() {
  has systemctl || return 0
  timeout -k 5 60 systemctl daemon-reload
  for u in $(units); do quick systemctl stop "$u" 2>/dev/null; quick systemctl reset-failed "$u" 2>/dev/null; done
  if [ -s "$saved/restart" ]; then for u in $(sort -u "$saved/restart"); do timeout -k 5 60 systemctl try-restart "$u"; done; fi
  if [ -s "$saved/reload" ]; then for u in $(sort -u "$saved/reload"); do timeout -k 5 60 systemctl try-reload-or-restart "$u"; done; fi
  sed -n "s/^active //p" "$had" 2>/dev/null | while read -r u; do quick systemctl is-active --quiet "$u" || timeout -k 5 90 systemctl start "$u"; done
}

[ -d "$R/etc/bpa" ] || mkdir -m 755 "$R/etc/bpa" || exit 1
[ -d "$saved" ] || mkdir -m 700 "$saved" || exit 1
# The script of a broken connection may still run.
if has flock; then exec 9<"$R/etc/bpa" && flock -w 300 9 || { echo "another reset of this machine is still running" >&2; exit 1; }; fi
{
  stop_units; kill_processes
  mounts | while read -r m; do unmount "$m"; done
  remove_services; remove_rules; remove_links; restore_rules; restore_network
  remove_paths; remove_accounts; restore_hosts; restore_services; update_trust
  if [ -e "$had" ]; then restore_sysctl; restore_swap; restore_names; fi
} >&2
