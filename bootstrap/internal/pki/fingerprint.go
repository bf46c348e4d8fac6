package pki

import (
	"crypto/sha256"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"
)

// Fingerprint returns the SHA-256 fingerprint of the first certificate in a PEM file, in the format
// of `openssl x509 -fingerprint -sha256`: bytes in upper-case hex, separated by colons.
func Fingerprint(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE" {
		return "", errors.New(file + " contains no PEM certificate")
	}
	sum := sha256.Sum256(block.Bytes)
	return strings.ReplaceAll(fmt.Sprintf("% X", sum), " ", ":"), nil
}
