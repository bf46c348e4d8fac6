//go:build e2e

package e2e

import (
	"regexp"
	"strings"
)

// secretPattern matches kubeadm bootstrap tokens, with the character before them, and bearer tokens. A
// name such as now-backup.18ea6e030683b72d, of an event, is no token.
var secretPattern = regexp.MustCompile(`(^|[^-.a-z0-9])[a-z0-9]{6}\.[a-z0-9]{16}\b|Bearer [A-Za-z0-9._-]{20,}`)

// privateKey finds the first "PRIVATE KEY-----" in text, and returns up to 20 characters before it.
// These characters contain no key material. privateKey returns nil if text has no private key.
func privateKey(text string) []string {
	if i := strings.Index(text, "PRIVATE KEY-----"); i >= 0 {
		return []string{text[max(0, i-20):i]}
	}
	return nil
}
