package ssh_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"strings"
	"testing"

	cryptossh "golang.org/x/crypto/ssh"

	"github.com/akraino-icn/bpa/pkg/ssh"
)

// The error for a wrong file in the Secret describes the file and does not quote it.
func TestParseKeySaysWhatIsWrong(t *testing.T) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	plain, err1 := cryptossh.MarshalPrivateKey(private, "")
	locked, err2 := cryptossh.MarshalPrivateKeyWithPassphrase(private, "", []byte("secret"))
	authorized, err3 := cryptossh.NewPublicKey(public)
	if err1 != nil || err2 != nil || err3 != nil {
		t.Fatal(err1, err2, err3)
	}
	if _, err := ssh.ParseKey(pem.EncodeToMemory(plain)); err != nil {
		t.Errorf("a good key: %v", err)
	}
	for want, text := range map[string]string{
		"passphrase":    string(pem.EncodeToMemory(locked)),
		"a passphrase":  "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIGj\n-----END ENCRYPTED PRIVATE KEY-----\n",
		"is empty":      " \n",
		"a public key":  string(cryptossh.MarshalAuthorizedKey(authorized)),
		"public key":    "-----BEGIN PUBLIC KEY-----\nMCow\n-----END PUBLIC KEY-----\n",
		"not a private": string(pem.EncodeToMemory(plain))[:100],
	} {
		if _, err := ssh.ParseKey([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseKey: %v, want an error with %q", err, want)
		}
	}
}

// TestNewKey: a new key can be parsed, is another one each time, and its public part is one line.
func TestNewKey(t *testing.T) {
	lines := map[string]bool{}
	for range 2 {
		text, err := ssh.NewKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		key, err := ssh.ParseKey(text)
		if err != nil {
			t.Fatal(err)
		}
		line := ssh.PublicLine(key)
		if !strings.HasPrefix(line, "ssh-ed25519 ") || strings.ContainsAny(line, "\n") {
			t.Errorf("public part %q", line)
		}
		lines[line] = true
	}
	if len(lines) != 2 {
		t.Errorf("two keys are the same: %v", lines)
	}
}
