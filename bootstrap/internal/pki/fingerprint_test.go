package pki

import (
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
)

func TestFingerprintIsThatOfTheCertificatesBytes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.crt")
	if _, err := Fingerprint(file); err == nil {
		t.Error("no error for a file that is not there")
	}
	if err := os.WriteFile(file, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Fingerprint(file); err == nil {
		t.Error("no error for a file without a certificate")
	}
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("abc")}), 0o600); err != nil {
		t.Fatal(err)
	}
	// FIPS 180-2, B.1: the SHA-256 of "abc".
	const want = "BA:78:16:BF:8F:01:CF:EA:41:41:40:DE:5D:AE:22:23:B0:03:61:A3:96:17:7A:9C:B4:10:FF:61:F2:00:15:AD"
	if got, err := Fingerprint(file); err != nil || got != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}
