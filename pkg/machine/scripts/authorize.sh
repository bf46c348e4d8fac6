# Replaces the keys of clusters in the authorized_keys of the login user by the line $key64, which is in
# base64; if it is empty, it only removes them. Other lines stay. One rename changes the file, so that an
# interruption locks nobody out.

user=${SUDO_USER:-root}
dir=$R$(eval echo "~$user")/.ssh; file=$dir/authorized_keys
if [ -z "$key64" ] && ! grep -qs " $sign " "$file"; then echo end; exit 0; fi
if [ ! -d "$dir" ]; then mkdir -p -m 700 "$dir" && chown "$user:" "$dir" || exit 1; fi
if [ -L "$file" ]; then file=$(readlink -f "$file") || exit 1; fi
new=$file.bpa.$$ # two runs may write at the same time
if [ -e "$file" ]; then cp -p "$file" "$new" || exit 1
else (umask 077; : >"$new") && chown "$user:" "$new" || exit 1; fi
{ if [ -e "$file" ]; then grep -v " $sign " "$file"; fi; echo "$key64" | base64 -d; } >"$new"
[ -z "$key64" ] || grep -q " $sign " "$new" || exit 1
sync "$new" 2>/dev/null
mv -f "$new" "$file" || exit 1
if has restorecon; then quick restorecon "$dir" "$file"; fi
echo end
