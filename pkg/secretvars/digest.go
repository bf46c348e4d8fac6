package secretvars

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
)

// KeyBytes is the length of a key of digests. KeyData is its key in the Secret contract.VarsKeyName.
const (
	KeyBytes = 32
	KeyData  = "key"
)

// NewKey returns a random key of digests.
func NewKey(random io.Reader) ([]byte, error) {
	key := make([]byte, KeyBytes)
	_, err := io.ReadFull(random, key)
	return key, err
}

// Digests returns the digest of each variable. It is keyed, so that nobody without the key can try out values.
// It depends on the name, so that equal values of two variables are not seen either. It does not depend on the
// spaces and the order of the keys of a value.
func Digests(key []byte, vars map[string]json.RawMessage) map[string]string {
	if len(vars) == 0 {
		return nil
	}
	all := make(map[string]string, len(vars))
	for name, text := range vars {
		canonical := []byte(text)
		if value, err := decode(text); err == nil {
			canonical, _ = json.Marshal(value) // sorts the keys; what was decoded can be encoded
		}
		sum := hmac.New(sha256.New, key)
		sum.Write(binary.AppendUvarint(nil, uint64(len(name))))
		sum.Write([]byte(name))
		sum.Write(canonical)
		all[name] = hex.EncodeToString(sum.Sum(nil)[:16])
	}
	return all
}
