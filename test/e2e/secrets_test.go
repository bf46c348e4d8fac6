//go:build e2e

package e2e

import (
	"regexp"
	"strings"
)

// secretPattern is a kubeadm bootstrap token or a bearer token.
var secretPattern = regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b|Bearer [A-Za-z0-9._-]{20,}`)

func privateKey(text string) []string {
	if i := strings.Index(text, "PRIVATE KEY-----"); i >= 0 {
		return []string{text[max(0, i-20):i]}
	}
	return nil
}
