package state

// PerInstallation are the parts of lines that differ between any two installations of the same cluster:
// random numbers, times, keys and certificates.
var PerInstallation = []Rule{
	{`\b[a-z0-9]{6}\.[a-z0-9]{16}\b`, "<bootstrap token>"},
	{`bootstrap-token-[a-z0-9]{6}\b`, "bootstrap-token-<id>"},
	{`jws-kubeconfig-[a-z0-9]{6}=.*`, "jws-kubeconfig-<id>=<signature>"},
	{`(?i)(certificate-?key"?[:=] ?).*`, "$1<key>"},
	{`^(content: /etc/kubernetes/kubeadm-[^:]*:.*)sha256:[0-9a-f]{64}`, "$1<hash of the CA>"},
	{`((?:certificate-authority|client-certificate|client-key)-data:) .*`, "$1 <data>"},
	{`[A-Za-z0-9+/=]{200,}`, "<certificate>"}, // in base64, such as a caBundle
	{`-----BEGIN CERTIFICATE-----.*-----END CERTIFICATE-----`, "<certificate>"},
	{`(etcd-cert/serial"?[:=] ?).*`, "$1<serial number>"},
	{`\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`, "<UID>"},
	{`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z?`, "<time>"},
	{`\bfe80::[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){1,3}\b`, "<link-local address>"},
	{`\bcri-containerd-[0-9a-f]{64}\.scope\b`, "cri-containerd-<id>.scope"},
	{`\b(kubepods-(?:besteffort-|burstable-)?pod)[0-9a-f_]{32,36}\.slice\b`, "$1<UID>.slice"},
	{`\bkubelet-client-\d{4}(?:-\d\d){5}\.pem\b`, "kubelet-client-<time>.pem"},
	{`\bbpa-depot-\d+-1\.(pem|crt)\b`, "bpa-depot-<time>-1.$1"},
	{`(nginx-cfg-checksum[:=] ?)"[0-9a-f]{40}"`, "$1<checksum of a file with addresses, whose content is compared>"},
	{`\.\d+\.\d{4}-\d\d-\d\d@\d\d:\d\d:\d\d~`, ".<backup>~"}, // Ansible's copy of a file that it replaces
	{`kube-api-access-[a-z0-9]{5}\b`, "kube-api-access-<id>"},
	{`(kubernetes\.io/config\.(?:hash|mirror)=)"[0-9a-f]{32}"`, "$1<hash, which depends on addresses>"},
	{`(bpa[:-](?:[a-z0-9.-]+:)?(?:admin|health|plugins|software)[:-])[0-9a-f]{8}\b`, "$1<id>"}, // users of BPA
}
