package backup

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"filippo.io/age"
)

// NewKey makes a key pair, writes the private key to a new file, in the notation of age-keygen, and returns the public
// key.
func NewKey(path string) (public string, err error) {
	pair, err := age.GenerateX25519Identity()
	if err != nil {
		return "", err
	}
	public = pair.Recipient().String()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", fmt.Errorf("write the private key: %w", err)
	}
	_, err = fmt.Fprintf(file, "# public key: %s\n%s\n", public, pair)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return "", errors.Join(fmt.Errorf("write the private key: %w", err), os.Remove(path))
	}
	return public, nil
}

// ReadKey reads the private keys in a file.
func ReadKey(path string) ([]age.Identity, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the private key: %w", err)
	}
	defer file.Close()
	keys, err := age.ParseIdentities(file)
	if err != nil {
		return nil, fmt.Errorf("%s has no private key of age, which begins with AGE-SECRET-KEY-1", path) // err may quote the key
	}
	return keys, nil
}

// publicKeys names the public keys of private keys, for messages.
func publicKeys(keys []age.Identity) string {
	var names []string
	for _, key := range keys {
		if pair, ok := key.(*age.X25519Identity); ok {
			names = append(names, pair.Recipient().String())
		}
	}
	return strings.Join(names, ", ")
}
