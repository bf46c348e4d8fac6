# Removes the folder of BPA after inspect.sh has found nothing. The save goes first: what it stored
# is restored, and must not be restored once more.

rm -rf "$saved" && rm -rf "$before" "$before.new" && rm -rf "$R/etc/bpa" || exit 1
echo end
