package pki

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/akraino-icn/bpa/bootstrap/internal/disk"
)

// Encryption is the name of the file with the API server's EncryptionConfiguration, and the key with which it encrypts
// Secrets before it stores them in etcd.
const Encryption = "encryption.yaml"

// encryptionConfiguration has the place of a base64 key of 32 bytes. The provider identity reads what was stored
// before there was a key.
const encryptionConfiguration = `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers:
  - secretbox:
      keys:
      - {name: machine, secret: %s}
  - identity: {}
`

// encryption creates the key of Secrets at rest, unless there is one. It never replaces it, because no Secret of the
// machine could be read any more.
func encryption(dir string) error {
	path := filepath.Join(dir, Encryption)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return disk.WriteFile(path, fmt.Appendf(nil, encryptionConfiguration, base64.StdEncoding.EncodeToString(key)), 0o600)
}
