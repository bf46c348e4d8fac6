package ssh

import (
	"bytes"
	"crypto/ed25519"
	"encoding/pem"
	"errors"
	"fmt"
	"io"

	"golang.org/x/crypto/ssh"
)

// Key is a private key for the login.
type Key = ssh.Signer

// ParseKey parses a private key without a passphrase, in PEM or OpenSSH form. The text of an error
// continues a sentence such as "the text ...". It never quotes the parsed text.
func ParseKey(text []byte) (Key, error) {
	key, err := ssh.ParsePrivateKey(text)
	var locked *ssh.PassphraseMissingError
	switch {
	case err == nil:
		return key, nil
	case errors.As(err, &locked), bytes.Contains(text, []byte("BEGIN ENCRYPTED PRIVATE KEY")):
		return nil, errors.New("is a private key with a passphrase, and a task cannot enter a passphrase: " +
			"use a key without one, such as a copy after `ssh-keygen -p -N '' -f FILE`")
	case len(bytes.TrimSpace(text)) == 0:
		return nil, errors.New("is empty")
	case isPublic(text):
		return nil, errors.New("is a public key: use the private key, which is in the file without .pub")
	}
	// The library's error is not used, because it may quote the text.
	return nil, errors.New("is not a private key in PEM or OpenSSH form")
}

// NewKey makes a private key of the type Ed25519, in OpenSSH form.
func NewKey(random io.Reader) ([]byte, error) {
	_, private, err := ed25519.GenerateKey(random)
	if err != nil {
		return nil, fmt.Errorf("make an SSH key: %w", err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		return nil, fmt.Errorf("encode an SSH key: %w", err)
	}
	return pem.EncodeToMemory(block), nil
}

// PublicLine returns the public part of a key as a line of authorized_keys, without a comment and without an
// end of line.
func PublicLine(key Key) string {
	return string(bytes.TrimSpace(ssh.MarshalAuthorizedKey(key.PublicKey())))
}

// isPublic reports whether a text is a public key in a form that ssh-keygen or openssl writes.
func isPublic(text []byte) bool {
	for _, kind := range []string{"ssh-", "ecdsa-sha2-", "sk-"} {
		if bytes.HasPrefix(bytes.TrimSpace(text), []byte(kind)) {
			return true
		}
	}
	return bytes.Contains(text, []byte("PUBLIC KEY-----"))
}
