# Rules, chains, sets and tables of Kubernetes and CNIs in the packet filter.

chain_names="^(KUBE-|CNI-|FLANNEL-|cali-|CILIUM_|OLD_CILIUM_|WEAVE|ANTREA-)"
comments="--comment \"?(cali:|flanneld |cilium-feeder:|cilium: |NodeLocal DNS Cache)"
nft_tables="^(kube-proxy|calico|cni_hostport|cni_plugins_masquerade|flannel-ipv4|flannel-ipv6|kube-network-policies|kindnet-.*|cilium.*)$"
set_names="^(KUBE-|cali40|cali60|cilium_|kube-router-|inet6:KUBE-|inet6:kube-router-|WEAVE|weave-|ANTREA-)"

# filters prints the variants of iptables on the machine. iptables itself is one of the two others if
# they exist.
filters() {
  for f in iptables ip6tables; do
    if has $f-nft-save; then echo $f-nft; if has $f-legacy-save; then echo $f-legacy; fi; elif has $f-save; then echo $f; fi
  done
}
# rules FILTER MODE reads the rules of a filter. With the mode site, it prints the rules that are not
# of Kubernetes, without counters. With the mode batch, it prints the input for FILTER-restore
# --noflush that removes those of Kubernetes. With the mode names, it prints their tables and chains.
rules() {
  quick "$1-save" 2>/dev/null | awk -v mode="$2" -v chains="$chain_names" -v notes="$comments" -v had="$had" "
    BEGIN { while ((getline line <had) > 0) if (line ~ /^chain CNI-/) keep[substr(line, 7)] = 1 }
    function kube(name) { return name ~ chains && !(name in keep) }
    function rule_of(line,   n, w, i) { # a rule of Kubernetes in any chain
      if (line ~ notes) return 1
      n = split(line, w, \" \")
      for (i = 3; i < n; i++) if ((w[i] == \"-j\" || w[i] == \"-g\") && kube(w[i + 1])) return 1
      return 0
    }
    function flush(  i) {
      if (mode != \"batch\" || n + c == 0) return
      print table
      for (i = 1; i <= n; i++) print rule[i]
      for (i = 1; i <= c; i++) print \"-F \" chain[i]
      for (i = 1; i <= c; i++) print \"-X \" chain[i]
      print \"COMMIT\"
    }
    /^#/ { next }
    /^\*/ { table = \$0; n = c = 0 }
    /^:/ { name = substr(\$1, 2); if (kube(name)) { chain[++c] = name; if (mode == \"names\") print substr(table, 2), name; next } sub(/ *\[[0-9:]*\]\$/, \"\") }
    /^-A/ { if (kube(\$2)) next; if (rule_of(\$0)) { n++; rule[n] = \"-D\" substr(\$0, 3); if (mode == \"names\") print substr(table, 2), \$2, \"rule\"; next } }
    /^COMMIT/ { flush() }
    mode == \"site\" { print }"
}
tables() { if has nft; then quick nft list tables 2>/dev/null | sed "s/^table //" | while read -r family name; do if echo "$name" | grep -qE "$nft_tables"; then echo "$family $name"; fi; done; fi; }
sets() { if has ipset; then quick ipset list -n 2>/dev/null | grep -E "$set_names"; fi; }
