# Prints the CA that the kubelet trusts and the certificate of the kubelet, in base64. It prints no key, and changes nothing.

for f in "$R/etc/kubernetes/ssl/ca.crt" "$R/etc/kubernetes/pki/ca.crt"; do
  if [ -s "$f" ]; then echo "ca $(base64 <"$f" | tr -d "\n")"; break; fi
done
f=$R/var/lib/kubelet/pki/kubelet-client-current.pem
if [ -s "$f" ]; then echo "kubelet $(sed -n "/-BEGIN CERTIFICATE-/,/-END CERTIFICATE-/p" "$f" | base64 | tr -d "\n")"; fi
if [ -s "$R/etc/kubernetes/admin.conf" ]; then echo "control-plane "; fi
echo end
