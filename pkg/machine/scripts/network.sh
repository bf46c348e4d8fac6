# The network configuration of the site: routes, rules and permanent addresses. Addresses and routes
# with a lifetime are left to the program that got them. The address that moves between control planes is not of the site:
# if a reset restored it, two machines would have it.

site_routes() {
  for f in -4 -6; do
    quick ip $f route show table all 2>/dev/null | grep -vE "^(local|broadcast|multicast|anycast|fe80::)|proto (kernel|ra|dhcp|bird|[0-9]+)( |$)|expires|^unreachable default|dev (cni0|flannel|cali|vxlan|tunl0|cilium|lxc|kube-|veth|nodelocaldns|weave)" | sed "s/ linkdown//; s/ dead//; s/ *$//; s/^/$f route /"
  done
}
site_rules() {
  for f in -4 -6; do quick ip $f rule show 2>/dev/null | grep -vE "^(0|32766|32767):" | sed "s/^\([0-9]*\):[[:space:]]*/$f rule pref \1 /; s/ *$//"; done
}
site_addresses() {
  moving=; [ ! -r "$R/etc/bpa/keepalived/address" ] || read -r moving <"$R/etc/bpa/keepalived/address"
  for f in -4 -6; do
    quick ip $f -o addr show permanent 2>/dev/null | grep -vE " (dynamic|temporary|mngtmpaddr)|scope (host|link)" |
      sed -n "s/^[0-9]*: *\([^ ]*\) *inet6* \([^ ]*\) .*/$f addr \2 dev \1/p" | grep -vE " dev (cni0|flannel|cali|vxlan|tunl0|cilium|lxc|kube-|veth|nodelocaldns|weave)" | grep -vF -- " addr $moving/32 dev "
  done
}
site_network() { site_addresses; site_routes; site_rules; }
