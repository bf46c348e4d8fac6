package pki

import (
	"crypto/sha256"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"
)

// Fingerprint is the SHA-256 of the first certificate in a file, as `openssl x509 -fingerprint -sha256` prints it.
func Fingerprint(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE" {
		return "", errors.New(file + " holds no certificate in PEM")
	}
	sum := sha256.Sum256(block.Bytes)
	return strings.ReplaceAll(fmt.Sprintf("% X", sum), " ", ":"), nil
}
