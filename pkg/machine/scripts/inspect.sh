# Prints what a cluster left on the machine. It changes nothing.

evidence=$(kubernetes)
used=; if marked || [ "$evidence" ]; then used=1; fi
{
  echo "$evidence" | sed -n "s/^./kubernetes &/p"
  processes | sed "s/^\([0-9]*\) \(.*\)/left process \2 (\1)/"
  units | sed "s/^/left unit /"
  mounts | sed "s/^/left mount /"
  namespaces | sed "s/^/left network namespace /"
  links | sort -u | sed "s/^/left link /"
  addresses | sed "s/^/left address /; s/ \([^ ]*\)$/ on \1/"
  routes | sed "s/^-[46] /left route /"
  for f in $(filters); do rules "$f" names | uniq | sed "s/^\([^ ]*\) \([^ ]*\) rule$/left $f table \1: rule in chain \2/; t; s/^\([^ ]*\) /left $f table \1: chain /"; done
  tables | sed "s/^/left nft table /"
  sets | sed "s/^/left ipset /"
  accounts | sed "s/^/left /"
  left_paths | while read -r p; do echo "left $(word "$p") $p"; done
} | head -n 2000
echo end
