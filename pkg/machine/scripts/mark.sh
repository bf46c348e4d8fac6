# Writes the user of the machine, and before that, if no cluster is on the machine yet, the record of
# its state. $user64 is the user in base64.

used=
[ -d "$R/etc/bpa" ] || mkdir -m 755 "$R/etc/bpa" || exit 1
if [ ! -e "$had" ] && [ -z "$(kubernetes)" ]; then
  rm -rf "$before.new"; mkdir -m 700 "$before.new" || exit 1
  for f in $edited; do [ ! -f "$R$f" ] || cp -p "$R$f" "$before.new/$(echo "$f" | tr / +)" || exit 1; done
  record >"$before.new/had"
  sync "$before.new/had" 2>/dev/null
  rm -rf "$before"; mv "$before.new" "$before" || exit 1
fi
printf %s "$user64" | base64 -d >"$R/etc/bpa/used-by.new" || exit 1
if cmp -s "$R/etc/bpa/used-by.new" "$R/etc/bpa/used-by"; then rm "$R/etc/bpa/used-by.new"; else sync "$R/etc/bpa/used-by.new" 2>/dev/null; mv -f "$R/etc/bpa/used-by.new" "$R/etc/bpa/used-by" || exit 1; fi
echo end
