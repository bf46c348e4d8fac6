# Removes the folder of BPA after inspect.sh has found nothing. One rename ends the use of the machine:
# if only the record were gone, the next run would take what the machine had before for a leftover.

gone=$R/etc/bpa.gone
rm -rf "$gone" || exit 1
if [ -e "$R/etc/bpa" ]; then mv "$R/etc/bpa" "$gone" && rm -rf "$gone" || exit 1; fi
echo end
