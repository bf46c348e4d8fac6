package contract

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
)

// Settings returns a digest of Vars. It does not depend on spaces and on the order of keys.
func (r Request) Settings() string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(r.Vars)) {
		value := []byte(r.Vars[name])
		var parsed any
		decoder := json.NewDecoder(bytes.NewReader(value))
		decoder.UseNumber()
		if decoder.Decode(&parsed) == nil {
			if text, err := json.Marshal(parsed); err == nil {
				value = text
			}
		}
		line, _ := json.Marshal([]string{name, string(value)}) // strings can always be encoded
		sum.Write(line)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// Level returns the Kubernetes version and the digest of the variables of an installed node.
func (i Installed) Level(n Node) (version, settings string) {
	version, settings = n.Version, n.Settings
	if version == "" {
		version = i.Request.KubernetesVersion
	}
	if settings == "" {
		settings = i.Request.Settings()
	}
	return version, settings
}
