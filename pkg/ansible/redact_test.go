package ansible

import (
	"strings"
	"testing"
)

func TestRedactHidesSecrets(t *testing.T) {
	key := strings.Repeat("0123456789abcdef", 4)
	for _, tc := range []struct{ name, text, secret string }{
		{"bootstrap token", "kubeadm join 10.0.0.1:6443 --token abcdef.0123456789abcdef now", "0123456789abcdef"},
		{"token in a sentence", `the token "xyz123.aaaaaaaabbbbbbbb" expires`, "aaaaaaaabbbbbbbb"},
		{"certificate key", "[upload-certs] Using certificate key:\n" + key + "\n", key},
		{"certificate key by flag", "--certificate-key " + key, key},
		{"upper case hex", "key " + strings.ToUpper(key), strings.ToUpper(key)},
		{"bearer", "Authorization: Bearer sha.long-opaque_value==", "sha.long-opaque_value"},
		{"basic", "authorization: basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA"},
		{"service account token", "got eyJhbGciOiJSUzI1NiIsImtpZCI6In.eyJpc3MiOiJrdWJlcm5ldGVz.c2lnbmF0dXJl", "eyJpc3MiOiJrdWJlcm5ldGVz"},
		{"private key", "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\n-----END EC PRIVATE KEY-----", "MHcCAQEE"},
		{"private key with escaped line ends", `"-----BEGIN PRIVATE KEY-----\nMHcCAQEE\n-----END PRIVATE KEY-----\n"`, "MHcCAQEE"},
		{"half a private key", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNza", "b3BlbnNza"},
		{"key of a kubeconfig", "client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpNSUlF", "LS0tLS1CRUdJTiBSU0E"},
		{"encoded key alone", "x LS0tLS1CRUdJTiBFQyBQUklWQVRFIEtFWS0tLS0tCk1IY0NBUUVF y", "LS0tLS1CRUdJTiBFQy"},
		{"password in a URL", "clone https://robot:hunter22@git.example/x", "hunter22"},
		{"password assigned", "registry_password=hunter22 failed", "hunter22"},
		{"password in YAML", "ansible_become_password: hunter22", "hunter22"},
		{"password in JSON", `{"password": "hunter 22"}`, "hunter 22"},
		{"password in escaped JSON", `{\"token\": \"hunter22\"}`, "hunter22"},
		{"password by flag", "--registry-password hunter22", "hunter22"},
		{"become password", "ansible_become_pass: hunter22", "hunter22"},
		{"become password assigned", "host-1 ansible_become_pass=hunter22 ansible_user=root", "hunter22"},
		{"become password in JSON", `{"ansible_become_pass": "hunter 22"}`, "hunter 22"},
		{"docker config", `{"auths": {"registry.example": {"auth": "cm9ib3Q6aHVudGVyMjI="}}}`, "cm9ib3Q6aHVudGVyMjI"},
		{"docker config in escaped JSON", `{\"auth\": \"cm9ib3Q6aHVudGVyMjI=\"}`, "cm9ib3Q6aHVudGVyMjI"},
		{"docker config in YAML", "      auth: cm9ib3Q6aHVudGVyMjI=", "cm9ib3Q6aHVudGVyMjI"},
		{"key of S3 in the environment", "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG", "wJalrXUtnFEMI"},
		{"key of S3", "secret_access_key: wJalrXUtnFEMI/K7MDENG", "wJalrXUtnFEMI"},
		{"key of S3 in JSON", `"secretAccessKey": "wJalrXUtnFEMI/K7MDENG"`, "wJalrXUtnFEMI"},
		{"secret key assigned", "minio_secret_key = wJalrXUtnFEMI", "wJalrXUtnFEMI"},
		{"API key", "api_key: 0a1b2c3d4e", "0a1b2c3d4e"},
		{"API key assigned", "url?apikey=0a1b2c3d4e&x=1", "0a1b2c3d4e"},
		{"API key in JSON", `{"apiKey": "0a1b2c3d4e"}`, "0a1b2c3d4e"},
		{"API key by flag", "--api-key 0a1b2c3d4e", "0a1b2c3d4e"},
		{"password of curl", "curl -fsS -u robot:hunter22 https://registry.example", "hunter22"},
		{"password of curl by a long flag", "curl --user=robot:hunter22 https://registry.example", "hunter22"},
		{"password of curl in a list", `["curl", "-u", "robot:hunter22", "https://registry.example"]`, "hunter22"},
		{"token in YAML", "users:\n- name: robot\n  user:\n    token: opaque-value-22\n", "opaque-value-22"},
		{"token in YAML with quotes", `    bearer_token: "opaque-value-22"`, "opaque-value-22"},
		{"key of age", "identity AGE-SECRET-KEY-1QQPQ8XZ7C3R found", "QQPQ8XZ7C3R"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Redact(tc.text)
			if strings.Contains(got, tc.secret) || !strings.Contains(got, hidden) {
				t.Errorf("Redact(%q) = %q, which shows %q", tc.text, got, tc.secret)
			}
			if again := Redact(got); again != got {
				t.Errorf("a second Redact changes %q to %q", got, again)
			}
		})
	}
}

func TestRedactKeepsTheRest(t *testing.T) {
	for _, text := range []string{
		"containerd : Download_file | Download item",
		"--discovery-token-ca-cert-hash sha256:" + strings.Repeat("ab", 32),
		"image registry.k8s.io/pause@sha256:" + strings.Repeat("0f", 32),
		"error: failed to create token: connection refused",
		"Failed to connect to the host via ssh: Permission denied (publickey,password).",
		`secrets "foo" not found`,
		"kubelet v1.35.4 at 10.60.0.12:10250, kernel 6.1.0-40-amd64",
		"02fc0000-0001-4d3f-67d8-000000000005",
		"-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----",
		"certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUM=",
		"Wait for the basic tests",
		"token: refused",
		"The token: it is old",
		"docker run -u 1000:1000 --user 65532:65532 image",
		"curl -fsS https://registry.example:5000/v2/",
		"auth: true",
		`{"auth": null, "bypass": "on", "authority": "registry.example"}`,
		"AWS_ACCESS_KEY_ID=AKIAIOSFODNN7",
		"ansible_ssh_private_key_file=/scratch/key",
		"age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p",
	} {
		if got := Redact(text); got != text {
			t.Errorf("Redact(%q) = %q, want it unchanged", text, got)
		}
	}
}

func TestLinesHideKeyOverLines(t *testing.T) {
	var l Lines
	var shown []string
	for _, line := range strings.Split("before\nkey: -----BEGIN RSA PRIVATE KEY-----\nMIIEow\nAAAA==\n-----END RSA PRIVATE KEY-----\nafter", "\n") {
		if s, ok := l.Redact(line); ok {
			shown = append(shown, s)
		}
	}
	if got, want := strings.Join(shown, "\n"), "before\nkey: "+hidden+"\nafter"; got != want {
		t.Errorf("shown %q, want %q", got, want)
	}
}
