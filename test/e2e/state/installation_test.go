package state

import (
	"strings"
	"testing"
)

// TestPerInstallation checks that lines of two installations are equal after the replacements, and
// that those which matter stay different.
func TestPerInstallation(t *testing.T) {
	long := strings.Repeat("QUJD", 60)
	for name, c := range map[string]struct {
		first, second string
		differ        bool
	}{
		"token":           {"content: /etc/kubernetes/kubeadm-config.yaml:  token: abcdef.0123456789abcdef", "content: /etc/kubernetes/kubeadm-config.yaml:  token: zbcdef.z123456789abcdef", false},
		"token's Secret":  {`objects: Secret kube-system/bootstrap-token-abcdef metadata.name="bootstrap-token-abcdef"`, `objects: Secret kube-system/bootstrap-token-123456 metadata.name="bootstrap-token-123456"`, false},
		"signature":       {`objects: ConfigMap kube-public/cluster-info data.jws-kubeconfig-abcdef="eyJ..x"`, `objects: ConfigMap kube-public/cluster-info data.jws-kubeconfig-123456="eyJ..y"`, false},
		"certificate key": {"content: /etc/kubernetes/kubeadm-config.yaml:certificateKey: 01", "content: /etc/kubernetes/kubeadm-config.yaml:certificateKey: 02", false},
		"hash of the CA":  {"content: /etc/kubernetes/kubeadm-client.conf:    - sha256:" + strings.Repeat("0", 64), "content: /etc/kubernetes/kubeadm-client.conf:    - sha256:" + strings.Repeat("1", 64), false},
		"kubeconfig":      {"content: /etc/kubernetes/admin.conf:    client-key-data: QUJD", "content: /etc/kubernetes/admin.conf:    client-key-data: REVG", false},
		"CA bundle":       {`objects: APIService /v1 spec.caBundle="` + long + `"`, `objects: APIService /v1 spec.caBundle="` + long + `QQ=="`, false},
		"CA":              {`objects: ConfigMap n/kube-root-ca.crt data.ca.crt="-----BEGIN CERTIFICATE-----\nA\n-----END CERTIFICATE-----\n"`, `objects: ConfigMap n/kube-root-ca.crt data.ca.crt="-----BEGIN CERTIFICATE-----\nB\n-----END CERTIFICATE-----\n"`, false},
		"serial number":   {"content: /etc/a: kubespray.etcd-cert/serial: 4A", "content: /etc/a: kubespray.etcd-cert/serial: 5B", false},
		"UID":             {"objects: Pod n/p a=\"00000000-0000-0000-0000-000000000000\"", "objects: Pod n/p a=\"10000000-0000-0000-0000-000000000000\"", false},
		"time":            {"content: /etc/a:2026-11-23T01:02:03Z", "content: /etc/a:2026-11-23T01:02:04.5Z", false},
		"backup":          {"files: f 644 root:root /etc/hosts.123.2026-11-23@01:02:03~ ->", "files: f 644 root:root /etc/hosts.4567.2026-11-24@01:02:03~ ->", false},
		"link-local":      {"content: /etc/bpa/before/had:route -6 local fe80::acaa:f2ff:fe16:4916 dev eth0", "content: /etc/bpa/before/had:route -6 local fe80::387b:f9ff:fe6d:6259 dev eth0", false},
		"container":       {"units: cri-containerd-" + strings.Repeat("0", 64) + ".scope transient", "units: cri-containerd-" + strings.Repeat("1", 64) + ".scope transient", false},
		"pod":             {"units: kubepods-besteffort-pod07d421a0_fc57_4bdb_a350_d0204851e999.slice transient", "units: kubepods-besteffort-pod2a8269d6_8bd3_4f4a_b7cc_49c1b6e4e215.slice transient", false},
		"static pod's":    {"units: kubepods-burstable-pod" + strings.Repeat("0", 32) + ".slice transient", "units: kubepods-burstable-pod" + strings.Repeat("1", 32) + ".slice transient", false},
		"client":          {"files: f 600 root:root /var/lib/kubelet/pki/kubelet-client-2026-11-23-06-45-05.pem ->", "files: f 600 root:root /var/lib/kubelet/pki/kubelet-client-2026-11-23-06-48-42.pem ->", false},
		"depot's CA":      {"files: l 777 root:root /etc/ssl/certs/0f0f4aa8.0 -> bpa-depot-1795416058-1.pem", "files: l 777 root:root /etc/ssl/certs/0f0f4aa8.0 -> bpa-depot-1795416375-1.pem", false},
		"nginx":           {`objects: Pod n/p a.nginx-cfg-checksum="` + strings.Repeat("0", 40) + `"`, `objects: Pod n/p a.nginx-cfg-checksum="` + strings.Repeat("1", 40) + `"`, false},
		"API volume":      {`objects: Pod n/p spec.volumes[0].name="kube-api-access-abcde"`, `objects: Pod n/p spec.volumes[0].name="kube-api-access-fghij"`, false},
		"static pod": {`objects: Pod n/p metadata.annotations.kubernetes.io/config.hash="` + strings.Repeat("0", 32) + `"`,
			`objects: Pod n/p metadata.annotations.kubernetes.io/config.hash="` + strings.Repeat("1", 32) + `"`, false},
		"user of BPA":    {`objects: ClusterRoleBinding /bpa-admin-01234567 subjects[0].name="bpa:edge-50:admin:01234567"`, `objects: ClusterRoleBinding /bpa-admin-89abcdef subjects[0].name="bpa:edge-50:admin:89abcdef"`, false},
		"digest":         {"images: registry.k8s.io/pause:3.10 sha256:" + strings.Repeat("0", 64), "images: registry.k8s.io/pause:3.10 sha256:" + strings.Repeat("1", 64), true},
		"sum":            {"sums: " + strings.Repeat("0", 64) + "  /usr/local/bin/kubelet", "sums: " + strings.Repeat("1", 64) + "  /usr/local/bin/kubelet", true},
		"setting":        {"content: /etc/containerd/config.toml:max = 3", "content: /etc/containerd/config.toml:max = 4", true},
		"mode of a file": {"files: f 600 root:root /etc/kubernetes/admin.conf ->", "files: f 644 root:root /etc/kubernetes/admin.conf ->", true},
	} {
		diff := Accepted(nil).Differences(Normal([]string{c.first}, nil, PerInstallation), Normal([]string{c.second}, nil, PerInstallation))
		if (diff != "") != c.differ {
			t.Errorf("%s: differences %q", name, diff)
		}
	}
}
