package access

import (
	"cmp"
	"strings"
)

// Revoked returns the value of contract.AnnotationRevoked: the users of the kubeconfig, of the stored key
// and of the health checks are the only ones with rights, and run was the newest run. Each can be empty.
func Revoked(kubeconfig, key, health, run string) string {
	fields := []string{kubeconfig, key, health, run}
	for i := range fields {
		fields[i] = cmp.Or(fields[i], "-")
	}
	return strings.Join(fields, " ")
}

// RevokedFor reports whether the value says that the rights of all kubeconfigs before that of this user
// have been deleted.
func RevokedFor(value, kubeconfig string) bool {
	user, _, _ := strings.Cut(value, " ")
	return user == kubeconfig
}
