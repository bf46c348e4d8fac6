package backup

import (
	"errors"
	"fmt"
	"strings"

	"filippo.io/age"
)

// Keys of the Secret contract.BackupKeyName.
const (
	// KeyIdentity is the private key. An administrator who keeps it elsewhere can remove it.
	KeyIdentity = "identity"
	// KeyRecipient is the public key.
	KeyRecipient = "recipient"
)

// NewKey makes a key pair, in the notation of age.
func NewKey() (identity, recipient string, err error) {
	pair, err := age.GenerateX25519Identity()
	if err != nil {
		return "", "", fmt.Errorf("make a key for backups: %w", err)
	}
	return pair.String(), pair.Recipient().String(), nil
}

// CheckIdentity returns an error unless the data of the Secret have the private key for this public key. The
// error never contains a key.
func CheckIdentity(data map[string][]byte, recipient string) error {
	text := strings.TrimSpace(string(data[KeyIdentity]))
	if text == "" {
		return errors.New("it has no key " + KeyIdentity)
	}
	pair, err := age.ParseX25519Identity(text)
	if err != nil {
		return fmt.Errorf("key %s is not a private key of age", KeyIdentity) // err may quote the key
	}
	if pair.Recipient().String() != recipient {
		return fmt.Errorf("its private key is not the one for %s", recipient)
	}
	return nil
}

// RecipientOf returns the public key in the data of the Secret. If it has only the private key, the
// public key is computed.
func RecipientOf(data map[string][]byte) (string, error) {
	if text := strings.TrimSpace(string(data[KeyRecipient])); text != "" {
		if _, err := age.ParseX25519Recipient(text); err != nil {
			return "", fmt.Errorf("key %s is not a public key of age: %w", KeyRecipient, err)
		}
		return text, nil
	}
	if text := strings.TrimSpace(string(data[KeyIdentity])); text != "" {
		pair, err := age.ParseX25519Identity(text)
		if err != nil {
			return "", fmt.Errorf("key %s is not a private key of age", KeyIdentity) // err may quote the key
		}
		return pair.Recipient().String(), nil
	}
	return "", errors.New("it has neither the key " + KeyRecipient + " nor the key " + KeyIdentity)
}
