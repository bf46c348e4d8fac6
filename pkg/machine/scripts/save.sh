# Stores what a reset playbook may destroy. It keeps an earlier save, because after an interrupted
# reset the machine does not have the state to store any more.

[ ! -e "$saved/done" ] || { echo end; exit 0; }
[ -d "$R/etc/bpa" ] || mkdir -m 755 "$R/etc/bpa" || exit 1
rm -rf "$saved"; mkdir -m 700 "$saved" || exit 1
for f in $(filters); do
  quick "$f-save" >"$saved/whole" || { echo "$f-save does not show the rules" >&2; exit 1; }
  rules "$f" site >"$saved/$f.rules" || exit 1
done
rm -f "$saved/whole"
if has nft; then
  quick nft list tables | sed "s/^table //" | while read -r family name; do
    if echo "$name" | grep -qE "$nft_tables"; then continue; fi
    if grep -qsx "\*$name" "$saved/iptables.rules" "$saved/iptables-nft.rules" "$saved/ip6tables.rules" "$saved/ip6tables-nft.rules" && { [ "$family" = ip ] || [ "$family" = ip6 ]; }; then continue; fi
    quick nft -s list table "$family" "$name" >"$saved/nft+$family+$name" || exit 1
  done || exit 1
fi
if has ipset; then quick ipset save 2>/dev/null | awk -v ours="$set_names" "\$2 !~ ours" >"$saved/ipset"; fi
site_network >"$saved/network"
# Programs that still have the configuration of the cluster after its files are gone.
[ ! -e "$R/etc/systemd/resolved.conf.d/kubespray.conf" ] || echo systemd-resolved.service >>"$saved/restart"
for f in calico k8s dns; do [ ! -e "$R/etc/NetworkManager/conf.d/$f.conf" ] || echo NetworkManager.service >>"$saved/reload"; done
sync "$saved" 2>/dev/null
: >"$saved/done"
echo end
