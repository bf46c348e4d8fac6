package apt

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"github.com/akraino-icn/bpa/pkg/depot/disk"
)

// keyFile is the file below the depot's root with the private key, in OpenPGP's armor. Only root and
// the depot's own user can read it.
const keyFile = "apt-key.asc"

// maxKey is far above the size of keyFile in bytes.
const maxKey = 64 << 10

// skew is how far a node's clock may be behind the depot's clock, as for the depot's certificates. A
// program that verifies a signature may refuse one from the future.
const skew = 24 * time.Hour

// epoch is a time before this program was written. A clock that shows an earlier time was never set.
var epoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// Key signs the indexes of all repositories of a depot. It serves its public part by HTTP.
type Key struct {
	entity *openpgp.Entity
	public []byte // armored
}

// OpenKey reads the key below the depot's root, or creates it at the first start. It returns an error
// if other users can read the key, or if the key is damaged; it never replaces a key.
func OpenKey(root *os.Root, log *slog.Logger) (*Key, error) {
	k, err := readKey(root)
	if errors.Is(err, fs.ErrNotExist) {
		k, err = makeKey(root, time.Now())
	}
	if err != nil {
		return nil, fmt.Errorf("the key that signs the indexes of OS packages: %w", err)
	}
	log.Info("key that signs the indexes of OS packages: nodes take only these", "file", keyFile, "fingerprint", k.Fingerprint())
	return k, nil
}

func makeKey(root *os.Root, now time.Time) (*Key, error) {
	if now.Before(epoch) {
		return nil, fmt.Errorf("this machine's clock says %s: set it first", now.Format(time.DateOnly))
	}
	created := now.Add(-skew)
	entity, err := openpgp.NewEntity("BPA depot "+now.UTC().Format(time.DateTime), "", "", &packet.Config{
		Algorithm: packet.PubKeyAlgoEdDSA, Curve: packet.Curve25519, Time: func() time.Time { return created }, // gpgv 2.1 and later verify it
	})
	if err != nil {
		return nil, err
	}
	entity.Subkeys = nil // for encryption
	private, err := armored(openpgp.PrivateKeyType, func(w io.Writer) error { return entity.SerializePrivateWithoutSigning(w, nil) })
	if err != nil {
		return nil, err
	}
	if err := disk.WriteFile(root, keyFile, private, 0o600); err != nil {
		return nil, err
	}
	return readKey(root)
}

func readKey(root *os.Root) (*Key, error) {
	info, err := root.Stat(keyFile)
	if err != nil {
		return nil, err
	}
	const remedy = "restore it from a backup; or remove it and start the depot again, which creates a new key, and run every cluster again, which gives the nodes the new key"
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("other users may read or change %s, so they may know the key: remove the file and start the depot again, which creates a new key, and run every cluster again, which gives the nodes the new key", keyFile)
	}
	f, err := root.Open(keyFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	held, err := openpgp.ReadArmoredKeyRing(io.LimitReader(f, maxKey))
	if err != nil {
		return nil, fmt.Errorf("%s is damaged: %w: %s", keyFile, err, remedy)
	}
	if len(held) != 1 || held[0].PrivateKey == nil || held[0].PrivateKey.Encrypted || !held[0].PrivateKey.CanSign() {
		return nil, fmt.Errorf("%s is damaged: it must have one private key that can sign and has no password: %s", keyFile, remedy)
	}
	public, err := armored(openpgp.PublicKeyType, held[0].Serialize)
	return &Key{held[0], public}, err
}

func armored(kind string, write func(io.Writer) error) ([]byte, error) {
	var b bytes.Buffer
	w, err := armor.Encode(&b, kind, nil)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(write(w), w.Close()); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// Fingerprint returns the key's fingerprint in the form of `gpg --show-keys`.
func (k *Key) Fingerprint() string {
	return fmt.Sprintf("%X", k.entity.PrimaryKey.Fingerprint)
}

// ServeHTTP serves the public key.
func (k *Key) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/pgp-keys")
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(k.public)
}
