# Prints what an installation has made of a machine, in sections. Files are those of which the content or
# the owner has changed since /run/lab-before was made. Private keys and certificates differ between
# any two installations: of them, only name, mode and owner are printed.
export LC_ALL=C
changed() {
  find /etc /usr/local/bin /opt/cni /var/lib/kubelet -xdev \
    \( -path /var/lib/kubelet/pods -o -path "/var/lib/kubelet/plugins*" -o -path /var/lib/kubelet/device-plugins -o -path /var/lib/kubelet/pod-resources \) -prune \
    -o -cnewer /run/lab-before "$@"
}
readable() { changed -type f ! -name "*.pem" ! -name "*.key" ! -name "*.crt" ! -path "*/pki/*" ! -path "*/ssl/*" "$@"; }
echo "== units"; systemctl list-unit-files --no-legend --no-pager | awk '{ print $1, $2 }' | sort
echo "== active"; systemctl list-units --type=service,socket,timer --no-legend --no-pager --all --plain | awk '{ print $1, $2, $3, $4 }' | grep -vE "^(systemd-(hostnamed|timedated|tmpfiles-clean)|user@|user-runtime-dir@|apt-daily|dpkg-db)" | sort
echo "== packages"; dpkg -l | awk '/^ii/ { print $2, $3 }'
# References with a digest are left out: only the kubelet makes them, and the third column has the digest.
echo "== images"; /usr/local/bin/ctr --namespace k8s.io images list | awk 'NR > 1 && $1 !~ /^sha256:|@/ { print $1, $3 }' | sort
echo "== files"; changed -printf "%y %m %u:%g %p -> %l\n" | sort -k 4
echo "== content"; readable -size -64k -exec grep -IH "" {} + | sort -s -t : -k 1,1
echo "== sums"; { readable -size +63k -print0; readable -size -64k -exec grep -ILZ "" {} +; } | xargs -0 -r sha256sum | sort -k 2
